package explanation

import (
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Text writes a path as ownership.ParsePattern reads it: as the API server prints it in conflicts, but for names that hold
// dots, which are quoted in brackets.
func Text(path fieldpath.Path) string {
	var b strings.Builder
	for _, element := range path {
		b.WriteString(elementText(element))
	}
	return b.String()
}

func elementText(element fieldpath.PathElement) string {
	if element.FieldName == nil {
		return element.String()
	}
	name := *element.FieldName
	if name == "" || name == "*" || strings.ContainsAny(name, `.[]"`) {
		return "[" + strconv.Quote(name) + "]"
	}
	return "." + name
}

// PathOf returns the path that a pattern is, unless it has a wildcard.
func PathOf(pattern ownership.Pattern) (path fieldpath.Path, plain bool) {
	for _, matcher := range pattern {
		if matcher.Wildcard {
			return nil, false
		}
		path = append(path, matcher.PathElement)
	}
	return path, true
}
