package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Fold is a container that one owner holds whole, or a single field.
type Fold struct {
	// Path is that of the container: the innermost one that has all of the fields. For a single field it is the field's.
	Path fieldpath.Path
	Owned
	// Fields are all that are listed of the container, in their order.
	Fields Fields
}

// Fold puts fields that one owner holds whole together into their common container, the outermost that has no field of
// anybody else, for a display as a tree. Each field is in exactly one fold; the order stays.
func (f Fields) Fold() []Fold { return f.fold(nil, 0) }

// fold appends the folds of fields whose paths agree in their first elements, as many as depth says.
func (f Fields) fold(folds []Fold, depth int) []Fold {
	if len(f) == 0 {
		return folds
	}
	if !slices.ContainsFunc(f, func(other Field) bool { return other.Owned != f[0].Owned }) {
		return append(folds, Fold{Path: f.common(), Owned: f[0].Owned, Fields: f})
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

func sameElement(a, b fieldpath.Path, at int) bool {
	return len(a) > at && len(b) > at && a[at].Equals(b[at])
}

// common returns how far the paths agree.
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
