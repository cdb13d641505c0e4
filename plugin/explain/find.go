package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/similar"
	"github.com/ownership-handoff/handoff/ownership"
)

// Find returns the explanation with only the fields that a FIELD argument matches. FIELD is written as in conflicts, or as
// JSONPath such as {.spec.replicas}; the leading dot is optional. If no field matches, the error lists similar fields.
func (e Explanation) Find(text string) (Explanation, error) {
	matches, err := e.find(text)
	e.Fields = nil
	for _, m := range matches {
		e.Fields = append(e.Fields, *m.field)
	}
	return e, err
}

// Named returns the paths that a FIELD argument matches, without duplicates and in the order of the object. A path is that of
// a field or of an ancestor; a wildcard can match several. List elements are identified as in the explanation's fields. The
// error is that of Find.
func (e Explanation) Named(text string) (paths []fieldpath.Path, err error) {
	matches, err := e.find(text)
	for _, m := range matches {
		path := m.field.Path[:m.length]
		if last := len(paths) - 1; last < 0 || !paths[last].Equals(path) { // fields of one parent are neighbors
			paths = append(paths, path.Copy())
		}
	}
	return paths, err
}

// match is a field with the length of the part of its path that a FIELD argument names.
type match struct {
	field  *ownership.Field
	length int
}

func (e Explanation) find(text string) ([]match, error) {
	text = plainText(text)
	pattern, unread := ownership.ParsePattern(text)
	live, at := e.exact(pattern)
	// Conflicts do not escape dots in names; JSONPath writes them as \. .
	plain := strings.ReplaceAll(text, `\.`, ".")
	for _, named := range []func(f *ownership.Field, n int) bool{
		func(f *ownership.Field, n int) bool { return n == len(pattern) && pattern.Matches(f.Path) },
		func(f *ownership.Field, n int) bool {
			return at != nil && n == len(pattern) && f.Value != nil && live.Find(f.Path[:n]) == at
		},
		func(f *ownership.Field, n int) bool { return f.Path[:n].String() == plain },
	} {
		var matches []match
		for i := range e.Fields {
			f := &e.Fields[i]
			for n := 1; n <= len(f.Path); n++ {
				if named(f, n) {
					matches = append(matches, match{f, n})
					break
				}
			}
		}
		if matches != nil {
			return matches, nil
		}
	}
	for i := range e.Fields {
		whole := live.Find(e.Fields[i].Path)
		if at != nil && whole != nil && e.Fields[i].Value != nil && strings.HasPrefix(at.Pointer(), whole.Pointer()+"/") {
			return nil, fmt.Errorf("%s: %s is part of %s, which is atomic; name that field instead", e.Subject, text, Text(e.Fields[i].Path))
		}
	}
	return nil, e.noField(text, unread)
}

// exact returns the live object, and in it the value that a pattern without wildcards leads to, nil if there is none. The pattern
// can identify list elements by index, as JSONPath does, or by other fields than their keys.
func (e Explanation) exact(pattern ownership.Pattern) (live, at *jsontree.Node) {
	path, plain := pattern.Path()
	if !plain || len(path) == 0 {
		return nil, nil
	}
	live = jsontree.Valid(e.Subject.Object.Text())
	at = live.Find(path)
	return live, at
}

// ParseField parses a FIELD argument.
func ParseField(text string) (ownership.Pattern, error) {
	return ownership.ParsePattern(plainText(text))
}

// plainText returns a FIELD argument in the form of conflicts.
func plainText(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "{"), "}")
	text = strings.TrimPrefix(text, "$")
	if !strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "[") {
		text = "." + text
	}
	return text
}

// noField returns an error with the paths of three similar fields or their ancestors.
func (e Explanation) noField(text string, unread error) error {
	expected := `write the field as in conflicts, such as .spec.template.spec.containers[name="app"].image`
	if unread != nil {
		expected = unread.Error() + "; " + expected
	}
	distances := map[string]int{}
	paths := e.Paths()
	for _, path := range paths {
		distances[path] = similar.Distance(strings.ToLower(text), strings.ToLower(path))
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	if near := paths[:min(3, len(paths))]; len(near) > 0 {
		expected = "similar fields: " + strings.Join(near, ", ") + "; " + expected
	}
	return fmt.Errorf("%s has no field %s; %s", e.Subject, text, expected)
}

// Paths returns the paths of all fields and their ancestors, sorted and without duplicates.
func (e Explanation) Paths() []string {
	var paths []string
	for i := range e.Fields {
		for end := range e.Fields[i].Path {
			paths = append(paths, Text(e.Fields[i].Path[:end+1]))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
