package explain

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
)

// Text returns a path in the form that ownership.ParsePattern parses: as the API server prints it in conflicts, except that
// names with dots are quoted in brackets.
func Text(path fieldpath.Path) string {
	var b strings.Builder
	for _, element := range path {
		b.WriteString(elementText(element))
	}
	return b.String()
}

func elementText(element fieldpath.PathElement) string {
	switch {
	case element.Key != nil:
		keys := make([]string, len(*element.Key))
		for i, key := range *element.Key {
			keys[i] = key.Name + "=" + scalarText(key.Value)
		}
		return "[" + strings.Join(keys, ",") + "]"
	case element.Value != nil:
		return "[=" + scalarText(*element.Value) + "]"
	case element.FieldName == nil:
		return element.String()
	}
	name := *element.FieldName
	if name == "" || name == "*" || strings.ContainsAny(name, `.[]"`) || printable.Text(name) != name {
		return "[" + printable.Quote(name) + "]"
	}
	return "." + name
}

func scalarText(v value.Value) string {
	if v.IsString() {
		return printable.Quote(v.AsString())
	}
	return value.ToString(v)
}

// PathOf returns the path that a pattern matches; plain is false if the pattern has a wildcard.
func PathOf(pattern ownership.Pattern) (path fieldpath.Path, plain bool) {
	for _, matcher := range pattern {
		if matcher.Wildcard {
			return nil, false
		}
		path = append(path, matcher.PathElement)
	}
	return path, true
}
