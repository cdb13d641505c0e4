package explain

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// Named returns the paths that a FIELD argument matches, without duplicates and in the order of the object. A path is that of
// a field or of an ancestor; a wildcard can match several. List elements are identified as in the explanation's fields. The
// error is that of Find.
func (e Explanation) Named(text string) ([]fieldpath.Path, error) {
	found, err := e.Find(text)
	if err != nil {
		return nil, err
	}
	pattern, _ := ParseField(text) // nil if only the plain text matches fields
	var paths []fieldpath.Path
	live := jsontree.Valid(e.Subject.Object.Text())
	listed := map[string]bool{}
	for i := range found.Fields {
		path := named(live, found.Fields[i].Path, pattern, text)
		if name := path.String(); !listed[name] {
			listed[name] = true
			paths = append(paths, path.Copy())
		}
	}
	return paths, nil
}

// named returns the part of a field's path that the argument matches.
func named(live *jsontree.Node, path fieldpath.Path, pattern ownership.Pattern, text string) fieldpath.Path {
	if n := len(pattern); n > 0 && n <= len(path) {
		if pattern.Matches(path) {
			return path[:n]
		}
		if exact, plain := PathOf(pattern); plain {
			if at := live.Find(exact); at != nil && live.Find(path[:n]) == at {
				return path[:n]
			}
		}
	}
	wanted := strings.ReplaceAll(plainText(text), `\.`, ".")
	for n := range path {
		if path[:n+1].String() == wanted {
			return path[:n+1]
		}
	}
	return path
}

// Within returns the atomic field that contains the path of a FIELD argument; ok is false if the object has no such path.
func (e Explanation) Within(text string) (field ownership.Field, ok bool) {
	pattern, err := ParseField(text)
	if err != nil {
		return field, false
	}
	path, plain := PathOf(pattern)
	if !plain || e.Subject.Object.Value(path) == nil {
		return field, false
	}
	live := jsontree.Valid(e.Subject.Object.Text())
	pointer := live.Find(path).Pointer()
	for i := range e.Fields {
		f := e.Fields[i]
		if at := live.Find(f.Path); at != nil && f.Value != nil && strings.HasPrefix(pointer, at.Pointer()+"/") {
			return f, true
		}
	}
	return field, false
}
