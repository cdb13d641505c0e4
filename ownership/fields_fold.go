package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Fold is a single field, or an object or list of which one owner owns every field.
type Fold struct {
	// Path is the longest common prefix of the fields' paths. For a single field it is the field's path.
	Path fieldpath.Path
	FieldOwner
	// Fields are all fields at Path or nested under it, in their order.
	Fields Fields
}

// Fold groups fields for display as a tree: each group is the largest object or list of which one owner owns every field. Each
// field is in exactly one group, and the order stays the same.
func (f Fields) Fold() []Fold { return f.fold(nil, 0) }

// fold appends the folds of fields whose paths have the first depth elements in common.
func (f Fields) fold(folds []Fold, depth int) []Fold {
	if len(f) == 0 {
		return folds
	}
	if !slices.ContainsFunc(f, func(other Field) bool { return other.FieldOwner != f[0].FieldOwner }) {
		return append(folds, Fold{Path: f.common(), FieldOwner: f[0].FieldOwner, Fields: f})
	}
	for start := 0; start < len(f); {
		end := start + 1
		for end < len(f) && sameElement(f[start].Path, f[end].Path, depth) {
			end++
		}
		folds = f[start:end].fold(folds, depth+1)
		start = end
	}
	return folds
}

// sameElement reports whether two paths have the same element at an index.
func sameElement(a, b fieldpath.Path, at int) bool {
	return len(a) > at && len(b) > at && a[at].Equals(b[at])
}

// common returns the longest common prefix of the fields' paths.
func (f Fields) common() fieldpath.Path {
	path := f[0].Path
	for _, other := range f[1:] {
		agree := 0
		for agree < len(path) && sameElement(path, other.Path, agree) {
			agree++
		}
		path = path[:agree]
	}
	return path
}
