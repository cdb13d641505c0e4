package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Fold is a group of fields: a single field, or all fields of an object or list.
type Fold struct {
	// Path is the longest common prefix of the fields' paths. For a single field it is the field's path.
	Path fieldpath.Path
	// Owner is the owner of all fields.
	Owner FieldOwner
	// Fields are all fields at Path or nested under it, in their order.
	Fields Fields
}

// Fold groups fields for display as a tree: each group is the largest object or list of which one owner owns every field. Each
// field is in exactly one group, and the order stays the same.
func (f Fields) Fold() []Fold { return f.fold(nil, 0, len(f), 0) }

// fold appends the folds of the fields from first to before end, whose paths have the first depth elements in common.
func (f Fields) fold(folds []Fold, first, end, depth int) []Fold {
	equal := first + 1
	for equal < end && f[first].Owner == f[equal].Owner {
		equal++
	}
	if fields := f[first:end]; equal == end {
		return append(folds, Fold{Path: fields.common(), Owner: fields[0].Owner, Fields: fields})
	}
	for start := first; start < end; {
		next := start + 1
		for next < end && sameElement(f[start].Path, f[next].Path, depth) {
			next++
		}
		folds = f.fold(folds, start, next, depth+1)
		start = next
	}
	return folds
}

// sameElement reports whether two paths have the same element at an index.
func sameElement(a, b fieldpath.Path, at int) bool {
	return len(a) > at && len(b) > at && a[at].Equals(b[at])
}

// common returns the longest common prefix of the fields' paths: that of the first and the last, as they are in the order of the object.
func (f Fields) common() fieldpath.Path {
	path, last, agree := f[0].Path, f[len(f)-1].Path, 0
	for sameElement(path, last, agree) {
		agree++
	}
	return path[:agree]
}
