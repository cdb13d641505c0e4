package explain

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/ownership"
)

// Named returns the paths that a FIELD argument names, each once, in the order of the object: a field, or what holds some; with
// a wildcard there can be several. Elements of lists are named as the fields of the explanation name them. The error is that of
// Find.
func (e Explanation) Named(text string) ([]fieldpath.Path, error) {
	found, err := e.Find(text)
	if err != nil {
		return nil, err
	}
	pattern, _ := ParseField(text) // nil where only the plain text has led to fields
	var paths []fieldpath.Path
	live := jsonindex.New(e.Object.Text())
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

// named returns as much of a field's path as the argument names.
func named(live *jsonindex.Index, path fieldpath.Path, pattern ownership.Pattern, text string) fieldpath.Path {
	if n := len(pattern); n > 0 && n <= len(path) {
		if pattern.Covers(path) {
			return path[:n]
		}
		if asked, plain := PathOf(pattern); plain {
			at, found := live.Pointer(asked)
			if pointer, there := live.Pointer(path[:n]); found && there && pointer == at {
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

// Within returns the field that is taken as a whole and holds the place that a FIELD argument names; ok is false where the
// object has no such place.
func (e Explanation) Within(text string) (field ownership.Field, ok bool) {
	pattern, err := ParseField(text)
	if err != nil {
		return field, false
	}
	path, plain := PathOf(pattern)
	if !plain || e.Object.Value(path) == nil {
		return field, false
	}
	live := jsonindex.New(e.Object.Text())
	pointer, _ := live.Pointer(path)
	for i := range e.Fields {
		f := e.Fields[i]
		if at, ok := live.Pointer(f.Path); ok && f.Value != nil && strings.HasPrefix(pointer, at+"/") {
			return f, true
		}
	}
	return field, false
}
