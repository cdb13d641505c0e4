package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Controlled returns the fields of live that the patterns give to controllers and that a controller has written: a
// manager that is neither applier nor imperative. They are innermost fields, each once; status is left out. The error is
// ErrManagedFields.
func (m Managers) Controlled(live []Entry, patterns []Pattern) ([]fieldpath.Path, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	candidate := func(e Entry) bool {
		return !m.IsApplier(e) && !m.IsImperative(e) &&
			slices.ContainsFunc(patterns, func(p Pattern) bool { return p.canCoverIn(e) })
	}
	return leaves(live, candidate, func(path fieldpath.Path) bool {
		return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Covers(path) })
	})
}

// leaves returns the innermost fields that some entries claim, as far as they are wanted. What a controller reports in
// status is no manifest's business.
func leaves(entries []Entry, from func(Entry) bool, wanted func(fieldpath.Path) bool) ([]fieldpath.Path, error) {
	found := fieldpath.NewSet()
	for _, e := range entries {
		if e.Subresource == "status" || !from(e) {
			continue
		}
		set, err := e.Set()
		if err != nil {
			return nil, err
		}
		for path := range set.Leaves().All() {
			if wanted(path) {
				found.Insert(path.Copy())
			}
		}
	}
	var paths []fieldpath.Path
	for path := range found.All() {
		paths = append(paths, path.Copy())
	}
	return paths, nil
}
