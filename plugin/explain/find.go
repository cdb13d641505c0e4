package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/similar"
	"github.com/ownership-handoff/handoff/ownership"
)

// Find returns the explanation with only the fields that a FIELD argument matches. FIELD is written as in conflicts, or as
// JSONPath such as {.spec.replicas}; the leading dot is optional. If no field matches, the error lists similar fields.
func (e Explanation) Find(text string) (Explanation, error) {
	text = plainText(text)
	pattern, err := ownership.ParsePattern(text)
	if err == nil {
		if found := e.Select(func(f ownership.Field) bool { return pattern.Matches(f.Path) }); len(found.Fields) > 0 {
			return found, nil
		}
		if found := e.at(pattern); len(found.Fields) > 0 {
			return found, nil
		}
	}
	// Conflicts do not escape dots in names; JSONPath writes them as \. .
	plain := strings.ReplaceAll(text, `\.`, ".")
	found := e.Select(func(f ownership.Field) bool {
		rest, ok := strings.CutPrefix(f.Path.String(), plain)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
	if len(found.Fields) > 0 {
		return found, nil
	}
	return found, e.noField(text, err)
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

// at returns the explanation with only the fields at a path that identifies list elements by index, as JSONPath does, or by
// other fields than their keys.
func (e Explanation) at(pattern ownership.Pattern) Explanation {
	path, plain := PathOf(pattern)
	if !plain || e.Subject.Object.Value(path) == nil {
		return Explanation{}
	}
	live := jsontree.Valid(e.Subject.Object.Text())
	pointer := live.Find(path).Pointer()
	return e.Select(func(f ownership.Field) bool {
		rest, ok := strings.CutPrefix(live.Find(f.Path).Pointer(), pointer)
		return f.Value != nil && ok && (rest == "" || rest[0] == '/')
	})
}

func (e Explanation) noField(text string, unread error) error {
	expected := `write the field as in conflicts, such as .spec.template.spec.containers[name="app"].image`
	if unread != nil {
		expected = unread.Error() + "; " + expected
	}
	near := e.Near(text, 3)
	if len(near) == 0 {
		return fmt.Errorf("%s has no field %s; %s", e.Subject, text, expected)
	}
	return fmt.Errorf("%s has no field %s; similar fields: %s; %s", e.Subject, text, strings.Join(near, ", "), expected)
}

// Near returns the paths of fields and their ancestors that are most similar to a text, at most limit of them.
func (e Explanation) Near(text string, limit int) []string {
	distances := map[string]int{}
	paths := e.Paths()
	for _, path := range paths {
		distances[path] = similar.Distance(strings.ToLower(text), strings.ToLower(path))
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return paths[:min(limit, len(paths))]
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
