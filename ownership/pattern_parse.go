package ownership

import (
	"errors"
	"fmt"
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

var errNotOne = errors.New("write another path on its own, and a name with a space, a comma or a slash in brackets and quotes")

func fieldMatcher(name string) fieldpath.PathElementMatcher {
	if name == "*" {
		return fieldpath.MatchAnyPathElement()
	}
	return fieldpath.PathElementMatcher{PathElement: fieldpath.FieldNameElement(name)}
}

// parseBrackets parses [*], ["field name"], [="value"], [0], [key="value",key=1] and [key=*,nested.key=*].
func parseBrackets(text string) (element fieldpath.PathElementMatcher, rest string, err error) {
	if after, ok := strings.CutPrefix(text, "[*]"); ok {
		return fieldpath.MatchAnyPathElement(), after, nil
	}
	var keys value.FieldList
	for rest = text[1:]; ; rest = rest[1:] {
		var part bracketed
		if part, rest, err = parseBracketed(rest); err != nil {
			return element, "", err
		}
		switch {
		case part.key == "" && len(keys) > 0:
			return element, "", errors.New("brackets must contain either keys with their values, or one name, value or index")
		case part.key == "":
			return part.alone(rest)
		}
		isAny := part.value == nil
		if len(keys) > 0 && isAny != element.Wildcard {
			return element, "", errors.New("the values in brackets must all be *, or none")
		}
		if slices.ContainsFunc(keys, func(other value.Field) bool { return other.Name == part.key }) {
			return element, "", fmt.Errorf("the key %s is there twice; delete one of them", part.key)
		}
		keys, element.Wildcard = append(keys, value.Field{Name: part.key, Value: part.value}), isAny
		switch rest[0] {
		case ']':
			keys.Sort()
			element.Key = &keys
			return element, rest[1:], nil
		case ',':
		default:
			return element, "", errors.New("a comma or the closing bracket is missing")
		}
	}
}

// bracketed is a part of the text in brackets: key="value", key=*, ="value" or a scalar.
type bracketed struct {
	key     string      // empty if there is none
	afterEq bool        // the value follows a "="
	value   value.Value // nil for *
}

// parseBracketed parses one part. The rest, which begins with the character after the part, is not empty.
func parseBracketed(text string) (part bracketed, rest string, err error) {
	if at := strings.IndexAny(text, `="],`); at >= 0 && text[at] == '=' {
		part.key, part.afterEq, text = text[:at], true, text[at+1:]
	}
	if part.key != "" && (strings.Contains("."+part.key+".", "..") || strings.Contains(part.key, " ")) {
		return part, "", fmt.Errorf("a key is not the name of a field: %q", part.key)
	}
	if after, ok := strings.CutPrefix(text, "*"); ok && part.key != "" {
		rest = after
	} else if part.value, rest, err = parseScalar(text); err != nil {
		return part, "", err
	}
	if rest == "" {
		return part, "", errors.New("the closing bracket is missing")
	}
	return part, rest, nil
}

// alone returns the path element for a part without a key: a value of a set after "=", else a field name or an index.
func (b bracketed) alone(rest string) (element fieldpath.PathElementMatcher, after string, err error) {
	switch {
	case b.afterEq:
		element.PathElement = fieldpath.ValueElement(b.value)
	case b.value.IsString():
		element.PathElement = fieldpath.FieldNameElement(b.value.AsString())
	case b.value.IsInt() && b.value.AsInt() >= 0:
		element.PathElement = fieldpath.IndexElement(int(b.value.AsInt()))
	default:
		return element, "", errors.New("brackets must contain a key, a quoted name, an index or *")
	}
	if rest[0] != ']' {
		return element, "", errors.New("the closing bracket is missing")
	}
	return element, rest[1:], nil
}

// parseScalar parses the JSON scalar at the beginning of text.
func parseScalar(text string) (v value.Value, rest string, err error) {
	end := scalarEnd(text)
	raw := jsontext.Value(text[:end])
	if !raw.IsValid() || raw.Kind() == '{' || raw.Kind() == '[' {
		return nil, "", errors.New("expected a quoted string, a number, true or false")
	}
	rest = text[end:]
	if n, err := strconv.ParseInt(text[:end], 10, 32); err == nil {
		return value.NewValueInterface(n), rest, nil
	}
	v, err = value.FromJSON(raw)
	return v, rest, err
}

// scalarEnd returns the index after the scalar at the beginning of text: after the closing quote of a string, or else before
// the next comma or bracket.
func scalarEnd(text string) int {
	if !strings.HasPrefix(text, `"`) {
		if end := strings.IndexAny(text, ",]"); end >= 0 {
			return end
		}
		return len(text)
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
