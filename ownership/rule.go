package ownership

import (
	"errors"
	"strings"
)

// coreGroup is how a rule writes the API group whose name is empty.
const coreGroup = "core"

// Rule gives fields of the objects of one kind to controllers. An empty or "*" group or kind stands for any; "core" is the
// group whose name is empty. A field is a controller's once one has written it: Managers.Controlled.
type Rule struct {
	Group, Kind string
	Fields      []Pattern
}

// Fits says whether the rule is about objects of a kind; group is as in an apiVersion, empty for core kinds.
func (r Rule) Fits(group, kind string) bool {
	if group == "" {
		group = coreGroup
	}
	return fits(r.Group, group) && fits(r.Kind, kind)
}

func fits(want, is string) bool { return want == "" || want == "*" || want == is }

// maxErrors is how many paths that do not parse are named.
const maxErrors = 8

// ParseControllerFields reads the controller-fields annotation: patterns separated by commas outside of brackets. The
// patterns that parse are returned beside the error about those that do not, the first few of them.
func ParseControllerFields(text string) ([]Pattern, error) {
	var patterns []Pattern
	var errs []error
	for _, part := range splitOutsideBrackets(text) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		pattern, err := ParsePattern(part)
		if err != nil {
			if len(errs) < maxErrors {
				errs = append(errs, err)
			}
			continue
		}
		patterns = append(patterns, pattern)
	}
	return patterns, errors.Join(errs...)
}

// splitOutsideBrackets splits at commas and line breaks. What is quoted within brackets can hold brackets of its own.
func splitOutsideBrackets(text string) []string {
	var parts []string
	depth, start := 0, 0
	quoted, escaped := false, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = depth > 0
		case c == '[':
			depth++
		case c == ']':
			depth--
		case (c == ',' || c == '\n') && depth <= 0:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}
