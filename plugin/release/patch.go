package release

import (
	"encoding/json"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// Patch returns the plan as a JSON patch (RFC 6902) of the annotation and managedFields. If the object has changed, the API
// server answers the patch with a conflict. WriterManager has to send the patch; pass the resulting object to Settle.
func (p Plan) Patch() ([]byte, error) {
	var operations []jsonpatch.Operation
	if p.was != p.text {
		at := "/metadata/annotations/" + jsontree.EscapePointer(ownership.LastAppliedAnnotation)
		operations = append(operations, jsonpatch.NewOperation("replace", at, p.text))
	}
	return patchOf(p.Subject.Object, p.after, operations...)
}

// Settle returns the patch that moves the annotation in managedFields from WriterManager, which took it over by writing the
// text, back to the managers that had it. It returns nil if there is nothing to move. After is the current object.
func (p Plan) Settle(after ownership.Object) ([]byte, error) {
	entries, err := after.Entries()
	if err != nil {
		return nil, err
	}
	written := slices.IndexFunc(entries, isWriter)
	if written < 0 {
		return nil, nil
	}
	holders := slices.DeleteFunc(ownership.EntriesFor(p.before, ownership.LastAppliedPath()), isWriter)
	if len(holders) == 0 { // an earlier release was interrupted
		holders = slices.DeleteFunc(slices.Clone(entries), func(e ownership.Entry) bool {
			return isWriter(e) || !p.isApplier(e) || e.Operation != ownership.OperationUpdate
		})
	}
	if len(holders) == 0 {
		return nil, nil
	}
	settled, err := giveBack(entries, holders)
	if err != nil {
		return nil, err
	}
	return patchOf(after, settled)
}

// giveBack moves the annotation from the entry of WriterManager to other entries.
func giveBack(entries, holders []ownership.Entry) (settled []ownership.Entry, err error) {
	annotation := fieldpath.NewSet(ownership.LastAppliedPath())
	for _, e := range entries {
		if !isWriter(e) {
			settled = append(settled, e)
			continue
		}
		set, err := e.Set()
		if err != nil {
			return nil, err
		}
		if set = set.Difference(annotation); set.Empty() {
			continue
		}
		if e, err = e.WithSet(set); err != nil {
			return nil, err
		}
		settled = append(settled, e)
	}
	for _, e := range holders {
		if e, err = e.WithSet(annotation); err != nil {
			return nil, err
		}
		if settled, err = withPaths(settled, e, annotation); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// Settled reports whether no earlier release was interrupted before Settle.
func (p Plan) Settled() bool { return !slices.ContainsFunc(p.before, isWriter) }

func isWriter(e ownership.Entry) bool {
	return e.Manager == WriterManager && e.Contains(ownership.LastAppliedPath())
}

// patchOf adds the operations that replace managedFields. The operation on the resourceVersion is a replace and not a test,
// because only the former makes the API server answer with a conflict.
func patchOf(o ownership.Object, entries []ownership.Entry, operations ...jsonpatch.Operation) ([]byte, error) {
	version := o.Value(fieldpath.MakePathOrDie("metadata", "resourceVersion"))
	return merge.EncodePatch(append(operations,
		jsonpatch.NewOperation("replace", "/metadata/managedFields", json.RawMessage(ownership.EncodeEntries(entries))),
		jsonpatch.NewOperation("replace", "/metadata/resourceVersion", json.RawMessage(version)),
	))
}
