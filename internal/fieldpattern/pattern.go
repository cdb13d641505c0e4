// Package fieldpattern reads and matches patterns: paths of fields, as the API server prints them, in which any element can be a wildcard.
//
// A Tree matches many patterns against a set of fields in one pass, element by element.
package fieldpattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Pattern matches fields and the fields nested under them: a path in which any element can be a wildcard. A wildcard with a Key matches
// any list element, and names the fields that identify it in a list that has no keys itself.
type Pattern []fieldpath.PathElementMatcher

// Parse parses a path as the API server prints it in conflicts, such as .spec.template.spec.containers[name="app"].resources.
//
// The wildcard *, as in .data.* or containers[*], matches any field, key, value or index. In quotes it is not a wildcard:
// containers[name="*"] is the container named *. The wildcard [name=*] matches any element of a list, which name identifies, and
// [destination.host=*] is the same for a nested field. A field name that contains a dot is written in brackets and quotes: .data["a.b"].
// Labels and annotations need none: .metadata.labels.a.b/c. The error quotes the part that does not parse.
func Parse(text string) (Pattern, error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, errors.New("path is empty")
	}
	var pattern Pattern
	for rest != "" {
		element, after, err := parseElement(rest)
		if err == nil && len(pattern) == jsontree.MaxDepth {
			err = fmt.Errorf("a path can have at most %d elements", jsontree.MaxDepth)
		}
		if err != nil {
			return nil, fmt.Errorf("path %s: at %q: %w", Shortened(text), Shortened(rest), err)
		}
		pattern, rest = append(pattern, element), after
		if name, ok := strings.CutPrefix(rest, "."); ok && name != "" && !strings.ContainsAny(name, "[, ") && pattern.isMetadataMap() {
			return append(pattern, fieldMatcher(name)), nil
		}
	}
	return pattern, nil
}

// MustParse parses patterns that are constants.
func MustParse(texts ...string) (patterns []Pattern) {
	for _, text := range texts {
		pattern, err := Parse(text)
		if err != nil {
			panic(err)
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// Shortened truncates a text for an error message.
func Shortened(text string) string {
	const maxLen = 200
	if len(text) <= maxLen {
		return text
	}
	return strings.ToValidUTF8(text[:maxLen], "") + "..."
}

// isMetadataMap reports whether a pattern is that of the labels or annotations of metadata, whose keys contain dots. The API server and
// handoff's warnings print them without brackets.
func (p Pattern) isMetadataMap() bool {
	return len(p) > 1 && IsNamed(p[len(p)-2].PathElement, "metadata") && IsNamed(p[len(p)-1].PathElement, "labels", "annotations")
}

// HasPrefix reports whether a path is a prefix or nested under it.
func HasPrefix(path, prefix fieldpath.Path) bool {
	return len(prefix) <= len(path) && path[:len(prefix)].Equals(prefix)
}

// IsNamed reports whether a path element is a field with one of the names.
func IsNamed(element fieldpath.PathElement, names ...string) bool {
	return element.FieldName != nil && slices.Contains(names, *element.FieldName)
}

// IsKey reports whether a field identifies the list element that it is in.
func IsKey(element, field fieldpath.PathElement) bool {
	return element.Key != nil && slices.ContainsFunc(*element.Key, func(key value.Field) bool { return IsNamed(field, key.Name) })
}

// Matches reports whether the pattern matches the field at path or one of its parents.
func (p Pattern) Matches(path fieldpath.Path) bool {
	if len(p) > len(path) {
		return false
	}
	for i, matcher := range p {
		if !matcher.Wildcard && !matcher.PathElement.Equals(path[i]) {
			return false
		}
	}
	return true
}

// IsKey reports whether the pattern matches a field that identifies its list element, which can be nested.
func (p Pattern) IsKey() bool {
	name := ""
	for i := len(p) - 1; i > 0 && p[i].FieldName != nil && !p[i].Wildcard; i-- {
		name = strings.Trim(*p[i].FieldName+"."+name, ".")
		if IsKey(p[i-1].PathElement, fieldpath.FieldNameElement(name)) {
			return true
		}
	}
	return false
}

// IsBroad reports whether the pattern matches the whole spec, in which every manifest sets fields.
func (p Pattern) IsBroad() bool {
	return p[0].Wildcard || IsNamed(p[0].PathElement, "spec") && (len(p) == 1 || p[1].Wildcard)
}

// Path returns the path of a pattern up to its first wildcard; ok reports whether it has none.
func (p Pattern) Path() (path fieldpath.Path, ok bool) {
	for _, matcher := range p {
		if matcher.Wildcard {
			return path, false
		}
		path = append(path, matcher.PathElement)
	}
	return path, true
}
