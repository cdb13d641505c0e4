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
	found, _, err := e.find(text)
	return found, err
}

// Named returns the paths that a FIELD argument matches, without duplicates and in the order of the object. A path is that of
// a field or of an ancestor; a wildcard can match several. List elements are identified as in the explanation's fields. The
// error is that of Find.
func (e Explanation) Named(text string) ([]fieldpath.Path, error) {
	found, lengths, err := e.find(text)
	var paths []fieldpath.Path
	listed := map[string]bool{}
	for i, length := range lengths {
		path := found.Fields[i].Path[:length]
		if name := path.String(); !listed[name] {
			listed[name] = true
			paths = append(paths, path.Copy())
		}
	}
	return paths, err
}

// find also returns how many elements of each field's path the FIELD argument names.
func (e Explanation) find(text string) (found Explanation, lengths []int, err error) {
	text = plainText(text)
	pattern, err := ownership.ParsePattern(text)
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
		found = e
		found.Fields = nil
		for i := range e.Fields {
			for n := 1; n <= len(e.Fields[i].Path); n++ {
				if named(&e.Fields[i], n) {
					found.Fields, lengths = append(found.Fields, e.Fields[i]), append(lengths, n)
					break
				}
			}
		}
		if len(lengths) > 0 {
			return found, lengths, nil
		}
	}
	return found, nil, e.noField(text, err)
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

// Within returns the atomic field that contains the path of a FIELD argument; ok is false if the object has no such path.
func (e Explanation) Within(text string) (field ownership.Field, ok bool) {
	pattern, _ := ParseField(text)
	live, at := e.exact(pattern)
	for i := range e.Fields {
		f := e.Fields[i]
		whole := live.Find(f.Path)
		if at != nil && whole != nil && f.Value != nil && strings.HasPrefix(at.Pointer(), whole.Pointer()+"/") {
			return f, true
		}
	}
	return field, false
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
