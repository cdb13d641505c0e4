package explain

import (
	"fmt"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// Find returns the explanation with only the fields that a FIELD argument matches. FIELD is written as in conflicts, or as
// JSONPath such as {.spec.replicas}; the leading dot is optional. Paths are those that FIELD names, without duplicates and in the order
// of the object: of fields, or of ancestors of fields. They identify list elements as the explanation's fields do, while FIELD can
// also use an index, as JSONPath does, or other fields than the keys.
func (e Explanation) Find(text string) (found Explanation, paths []fieldpath.Path, err error) {
	text = plainText(text)
	pattern, unread := ownership.ParsePattern(text)
	live := jsontree.Valid(e.Subject.Object.Text())
	var at *jsontree.Node
	if path, isPath := pattern.Path(); isPath && len(path) > 0 {
		at = live.Find(path)
	}
	// Conflicts do not escape dots in names; JSONPath writes them as \. .
	plain := strings.ReplaceAll(text, `\.`, ".")
	isNamed := func(f *ownership.OwnedField, n int) bool {
		return n == len(pattern) && (pattern.Matches(f.Path) || at != nil && f.Value != nil && live.Find(f.Path[:n]) == at) ||
			f.Path[:n].String() == plain
	}
	found = e
	found.Fields = nil
	for i := range e.Fields {
		f, n := &e.Fields[i], 1
		for n <= len(f.Path) && !isNamed(f, n) {
			n++
		}
		if n > len(f.Path) {
			continue
		}
		found.Fields = append(found.Fields, *f)
		if last := len(paths) - 1; last < 0 || !paths[last].Equals(f.Path[:n]) { // fields of one parent are neighbors
			paths = append(paths, f.Path[:n].Copy())
		}
	}
	if paths != nil {
		return found, paths, nil
	}
	for i := range e.Fields {
		whole := live.Find(e.Fields[i].Path)
		if at != nil && whole != nil && e.Fields[i].Value != nil && strings.HasPrefix(at.PointerIn(nil), whole.PointerIn(nil)+"/") {
			return found, nil, fmt.Errorf("%s: %s is part of %s, which is atomic; name that field instead", e.Subject, text, Text(e.Fields[i].Path))
		}
	}
	expected := `write the field as in conflicts, such as .spec.template.spec.containers[name="app"].image`
	if unread != nil {
		expected = unread.Error() + "; " + expected
	}
	return found, nil, fmt.Errorf("%s has no field %s; %s", e.Subject, text, expected)
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
