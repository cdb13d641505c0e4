package fieldpattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// parseElement parses the path element at the beginning of text: .name, or brackets.
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
		if strings.ContainsAny(name, " ,/") {
			return element, "", errNotOne
		}
		return fieldMatcher(name), text[end+1:], nil
	case '[':
		return parseBrackets(text)
	default:
		return element, "", errors.New("a dot is missing before a field name")
	}
}

var (
	errNotOne = errors.New("write another path on its own, and a name with a space, a comma or a slash in brackets and quotes")
	errOpen   = errors.New("the closing bracket is missing")
)

func fieldMatcher(name string) fieldpath.PathElementMatcher {
	if name == "*" {
		return fieldpath.MatchAnyPathElement()
	}
	return fieldpath.PathElementMatcher{PathElement: fieldpath.FieldNameElement(name)}
}

// bracketed matches a part of the text in brackets: key="value", key=*, ="value" or a scalar. Its groups are the key, the equals sign,
// and the value.
var bracketed = regexp.MustCompile(`^(?:([^="\],]*)(=))?(\*|"(?:[^"\\]|\\(?s:.))*"?|[^,\]]*)`)

// parseBrackets parses [*], ["field name"], [="value"], [0], [key="value",key=1] and [key=*,nested.key=*].
func parseBrackets(text string) (element fieldpath.PathElementMatcher, rest string, err error) {
	if after, ok := strings.CutPrefix(text, "[*]"); ok {
		return fieldpath.MatchAnyPathElement(), after, nil
	}
	var keys value.FieldList
	for rest = text[1:]; ; rest = rest[1:] {
		part := bracketed.FindStringSubmatch(rest)
		rest = rest[len(part[0]):]
		key, isValue, isAny := part[1], part[2] != "", part[1] != "" && part[3] == "*"
		is, isScalar := scalarOf(part[3])
		switch {
		case strings.Contains("."+key+".", "..") && key != "" || strings.Contains(key, " "):
			err = fmt.Errorf("a key is not the name of a field: %q", key)
		case !isScalar && !isAny:
			err = errors.New("expected a quoted string, a number, true or false")
		case rest == "":
			err = errOpen
		case key == "" && len(keys) > 0:
			err = errors.New("brackets must contain either keys with their values, or one name, value or index")
		case key == "":
			element.PathElement, err = alone(is, isValue)
			if err == nil && rest[0] != ']' {
				err = errOpen
			}
			return element, rest[1:], err
		case len(keys) > 0 && isAny != element.Wildcard:
			err = errors.New("the values in brackets must all be *, or none")
		case slices.ContainsFunc(keys, func(other value.Field) bool { return other.Name == key }):
			err = fmt.Errorf("the key %s is there twice; delete one of them", key)
		case rest[0] != ']' && rest[0] != ',':
			err = errors.New("a comma or the closing bracket is missing")
		}
		if err != nil {
			return element, "", err
		}
		keys, element.Wildcard = append(keys, value.Field{Name: key, Value: is}), isAny
		if rest[0] == ']' {
			keys.Sort()
			element.Key = &keys
			return element, rest[1:], nil
		}
	}
}

// alone returns the path element for a scalar without a key: a value of a set after an equals sign, else a field name or an index.
func alone(is value.Value, isValue bool) (element fieldpath.PathElement, err error) {
	switch {
	case isValue:
		return fieldpath.ValueElement(is), nil
	case is.IsString():
		return fieldpath.FieldNameElement(is.AsString()), nil
	case is.IsInt() && is.AsInt() >= 0:
		return fieldpath.IndexElement(int(is.AsInt())), nil
	default:
		return element, errors.New("brackets must contain a key, a quoted name, an index or *")
	}
}

// scalarOf returns the value of a JSON scalar; ok is false for any other text.
func scalarOf(text string) (v value.Value, ok bool) {
	raw := jsontext.Value(text)
	if !raw.IsValid() || raw.Kind() == '{' || raw.Kind() == '[' {
		return nil, false
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return value.NewValueInterface(n), true
	}
	v, err := value.FromJSON(raw)
	return v, err == nil
}
