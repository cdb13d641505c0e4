package release

import (
	"encoding/json"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

// patch returns the plan as a merge patch (RFC 7386) of the annotation and managedFields.
func (p Plan) patch() ([]byte, error) {
	metadata := map[string]any{}
	if p.annotation.with != p.annotation.without {
		metadata["annotations"] = map[string]string{ownership.LastAppliedAnnotation: p.annotation.without}
	}
	return patchOf(p.Subject.Object, p.after, metadata)
}

// settle returns the patch that moves the annotation in managedFields from WriterManager, which took it over by writing the
// text, back to the managers that had it. It returns nil if there is nothing to move. Current is the text of the current object.
func (p Plan) settle(current []byte) ([]byte, error) {
	after, err := ownership.ParseObject(current)
	if err != nil {
		return nil, err
	}
	entries, err := after.Entries()
	isWriter := func(e ownership.Entry) bool { return e.Manager == WriterManager }
	if err != nil || !slices.ContainsFunc(entries, isWriter) {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, isWriter)
	holders := slices.DeleteFunc(managedfields.For(p.before, ownership.LastAppliedPath()), isWriter)
	if len(holders) == 0 { // an earlier release was interrupted
		holders = p.Record.Updates
	}
	annotation := fieldpath.NewSet(ownership.LastAppliedPath())
	for _, e := range holders {
		if e, err = e.WithSet(annotation); err != nil {
			return nil, err
		}
		if entries, err = withPaths(entries, e, annotation); err != nil {
			return nil, err
		}
	}
	if len(holders) == 0 {
		return nil, nil
	}
	return patchOf(after, entries, map[string]any{})
}

// patchOf adds managedFields to the metadata of a patch, and the resourceVersion: if the object has changed, the API server answers the
// patch with a conflict.
func patchOf(o ownership.Object, entries []ownership.Entry, metadata map[string]any) ([]byte, error) {
	metadata["managedFields"] = json.RawMessage(managedfields.Encode(entries))
	metadata["resourceVersion"] = json.RawMessage(o.At("metadata", "resourceVersion").Text())
	return json.Marshal(map[string]any{"metadata": metadata})
}
