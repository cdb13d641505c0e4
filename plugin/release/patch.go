package release

import (
	"encoding/json"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// patch returns the plan as a JSON patch (RFC 6902) of the annotation and managedFields. If the object has changed, the API
// server answers the patch with a conflict.
func (p Plan) patch() ([]byte, error) {
	var operations []merge.Operation
	if p.was != p.text {
		at := "/metadata/annotations/" + jsontree.EscapePointer(ownership.LastAppliedAnnotation)
		operations = append(operations, merge.Operation{Op: "replace", Path: at, Value: p.text})
	}
	return patchOf(p.Subject.Object, p.after, operations...)
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
		holders = slices.DeleteFunc(slices.Clone(entries), func(e ownership.Entry) bool {
			return !p.isApplier(e) || e.Operation != managedfields.OperationUpdate
		})
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
	return patchOf(after, entries)
}

// patchOf adds the operations that replace managedFields. The operation on the resourceVersion is a replace and not a test,
// because only the former makes the API server answer with a conflict.
func patchOf(o ownership.Object, entries []ownership.Entry, operations ...merge.Operation) ([]byte, error) {
	version := o.Value(fieldpath.MakePathOrDie("metadata", "resourceVersion"))
	return merge.EncodePatch(append(operations,
		merge.Operation{Op: "replace", Path: "/metadata/managedFields", Value: json.RawMessage(managedfields.Encode(entries))},
		merge.Operation{Op: "replace", Path: "/metadata/resourceVersion", Value: json.RawMessage(version)},
	))
}

// manifests returns the manifest with and without the fields, to check whether the API server would create the object without them.
// If it is not recorded, as with server-side apply, it is what appliers manage of the live object: the API server would refuse to
// create an object with what it has allocated itself, as a node port.
func (p Plan) manifests() (with, without []byte) {
	if p.was != "" {
		return []byte(p.was), []byte(p.text)
	}
	applied := jsontree.Valid(source.WithoutGenerated(p.Subject.Object.Text()))
	mayGo := func(path fieldpath.Path) bool { return len(path) > 0 && !containsIdentity(path) }
	for i := range p.fields {
		if f := &p.fields[i]; !slices.ContainsFunc(f.Entries, p.isApplier) {
			applied.Cut(f.Path, mayGo)
		}
	}
	with = applied.Remaining()
	object := jsontree.Valid(with)
	for _, path := range p.Paths {
		object.Cut(path, removableIfEmpty)
	}
	return with, object.Remaining()
}
