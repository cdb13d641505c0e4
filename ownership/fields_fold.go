package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Fold is a group of fields: a single field, or all fields of an object or list.
type Fold struct {
	// Path is the longest common prefix of the fields' paths. For a single field it is the field's path.
	Path fieldpath.Path
	// Owner is the owner of the first field and, unless FoldBy made the group, of all fields.
	Owner FieldOwner
	// Fields are all fields at Path or nested under it, in their order.
	Fields Fields
}

// Fold groups fields for display as a tree: each group is the largest object or list of which one owner owns every field. Each
// field is in exactly one group, and the order stays the same.
func (f Fields) Fold() []Fold {
	return f.FoldBy(func(a, b *Field) bool { return a.Owner == b.Owner })
}

// FoldBy groups fields as Fold does, by another property than their owner: same reports whether two elements of f have the same
// one.
func (f Fields) FoldBy(same func(a, b *Field) bool) []Fold { return f.fold(nil, 0, same) }

// fold appends the folds of fields whose paths have the first depth elements in common.
func (f Fields) fold(folds []Fold, depth int, same func(a, b *Field) bool) []Fold {
	if len(f) == 0 {
		return folds
	}
	equal := 1
	for equal < len(f) && same(&f[0], &f[equal]) {
		equal++
	}
	if equal == len(f) {
		return append(folds, Fold{Path: f.common(), Owner: f[0].Owner, Fields: f})
	}
	for start := 0; start < len(f); {
		end := start + 1
		for end < len(f) && sameElement(f[start].Path, f[end].Path, depth) {
			end++
		}
		folds = f[start:end].fold(folds, depth+1, same)
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
