package merge

import (
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Clear returns the JSON patch operations (RFC 6902) that take fields out of the incoming object, which has them, and the
// write with nobody's claims on them, to be passed on to Keep: it is Keep that writes the claims. The error is
// ownership.ErrManagedFields.
func (w Write) Clear(paths []fieldpath.Path) (Write, []jsonpatch.Operation, error) {
	operations := make([]jsonpatch.Operation, 0, len(paths))
	for _, path := range paths {
		operations = append(operations, jsonpatch.NewOperation("remove", w.Incoming.Locate(path).Pointer, nil))
	}
	var entries []ownership.Entry
	for _, e := range w.IncomingEntries {
		if !slices.ContainsFunc(paths, e.Holds) {
			entries = append(entries, e)
			continue
		}
		set, err := e.Set()
		if err != nil {
			return w, nil, err
		}
		if e, err = e.WithSet(set.RecursiveDifference(fieldpath.NewSet(paths...))); err != nil {
			return w, nil, err
		}
		w.released = true
		if !claimsNothing(e) {
			entries = append(entries, e)
		}
	}
	w.IncomingEntries = entries
	return w, operations, nil
}
