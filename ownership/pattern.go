package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Pattern names fields: a path in which any element can be a wildcard.
type Pattern []fieldpath.PathElementMatcher

// ParsePattern reads a path as the API server prints it in conflicts, such as
// .spec.template.spec.containers[name="app"].resources. An element "*", as in .data.* or containers[*], stands for any
// field, key, value or index. A field name that holds a dot is written in brackets and quotes: .metadata.labels["a.b/c"].
func ParsePattern(text string) (Pattern, error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, errors.New("path is empty")
	}
	var pattern Pattern
	for rest != "" {
		element, after, err := parseElement(rest)
		if err != nil {
			return nil, fmt.Errorf("path %s: at %q: %w", text, rest, err)
		}
		pattern, rest = append(pattern, element), after
	}
	return pattern, nil
}

func parseElement(text string) (element fieldpath.PathElementMatcher, rest string, err error) {
	switch text[0] {
	case '.':
		end := strings.IndexAny(text[1:], ".[")
		if end < 0 {
			end = len(text) - 1
		}
		name := text[1 : end+1]
		if name == "" {
			return element, "", errors.New("a field name is missing after the dot")
		}
		return fieldMatcher(name), text[end+1:], nil
	case '[':
		return parseBrackets(text)
	default:
		return element, "", errors.New("a dot is missing before a field name")
	}
}

func fieldMatcher(name string) fieldpath.PathElementMatcher {
	if name == "*" {
		return fieldpath.MatchAnyPathElement()
	}
	return fieldpath.PathElementMatcher{PathElement: fieldpath.FieldNameElement(name)}
}

// parseBrackets reads [*], ["field name"], [="value"], [0] and [key="value",key=1].
func parseBrackets(text string) (element fieldpath.PathElementMatcher, rest string, err error) {
	if strings.HasPrefix(text, "[*]") {
		return fieldpath.MatchAnyPathElement(), text[3:], nil
	}
	var fields value.FieldList
	for rest = text[1:]; ; rest = rest[1:] {
		name, isKey := "", false
		if before, _, found := strings.Cut(rest, "="); found && !strings.ContainsAny(before, `"]`) {
			name, isKey, rest = before, true, rest[len(before)+1:]
		}
		v, after, err := parseScalar(rest)
		if err != nil {
			return element, "", err
		}
		if after == "" {
			return element, "", errors.New("the closing bracket is missing")
		}
		rest = after
		if !isKey || name == "" {
			element.PathElement, err = plainElement(v, isKey)
			if err == nil && rest[0] != ']' {
				err = errors.New("the closing bracket is missing")
			}
			return element, rest[1:], err
		}
		fields = append(fields, value.Field{Name: name, Value: v})
		switch rest[0] {
		case ']':
			fields.Sort()
			element.PathElement = fieldpath.PathElement{Key: &fields}
			return element, rest[1:], nil
		case ',':
		default:
			return element, "", errors.New("a comma or the closing bracket is missing")
		}
	}
}

// plainElement is what stands alone in brackets: a value of a set behind "=", else a field name or an index.
func plainElement(v value.Value, isValue bool) (fieldpath.PathElement, error) {
	switch {
	case isValue:
		return fieldpath.ValueElement(v), nil
	case v.IsString():
		return fieldpath.FieldNameElement(v.AsString()), nil
	case v.IsInt():
		return fieldpath.IndexElement(int(v.AsInt())), nil
	default:
		return fieldpath.PathElement{}, errors.New("brackets hold a key, a quoted name, an index or *")
	}
}

// parseScalar reads the JSON scalar that text starts with.
func parseScalar(text string) (v value.Value, rest string, err error) {
	dec := jsontext.NewDecoder(bytes.NewBufferString(text))
	raw, err := dec.ReadValue()
	if err != nil || raw.Kind() == '{' || raw.Kind() == '[' {
		return nil, "", errors.New("a quoted string, a number, true or false is expected")
	}
	rest = text[dec.InputOffset():]
	if n, err := strconv.ParseInt(string(raw), 10, 32); err == nil {
		return value.NewValueInterface(n), rest, nil
	}
	v, err = value.FromJSON(raw)
	return v, rest, err
}

// Covers says whether the pattern names the field at path, or what it is in.
func (p Pattern) Covers(path fieldpath.Path) bool {
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

// canCoverIn says whether the text of an entry has the field names of the pattern at all: few entries do, and the others
// need not be read.
func (p Pattern) canCoverIn(e Entry) bool {
	for _, matcher := range p {
		if matcher.Wildcard || matcher.FieldName == nil || strings.ContainsFunc(*matcher.FieldName, escaped) {
			continue
		}
		if !bytes.Contains(e.Fields, []byte(*matcher.FieldName)) {
			return false
		}
	}
	return true
}
