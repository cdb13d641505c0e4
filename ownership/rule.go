package ownership

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// coreGroup is the name of the core API group in a rule.
const coreGroup = "core"

// Rule assigns fields of one kind's objects to controllers. A controller owns such a field once it has written it.
type Rule struct {
	// Group and Kind select objects; "" and "*" match any. The group of core kinds is "core".
	Group, Kind string
	// Fields match the fields that the rule assigns.
	Fields []Pattern
	// Managers are names or path.Match patterns of controllers that use server-side apply. Their applies to objects of the kind
	// do not count as manifests. Controllers that use updates need not be listed.
	Managers []string
}

// Matches reports whether the rule applies to a kind. group is as in an apiVersion, empty for core kinds.
func (r Rule) Matches(group, kind string) bool {
	if group == "" {
		group = coreGroup
	}
	return fits(r.Group, group) && fits(r.Kind, kind)
}

func fits(want, is string) bool { return want == "" || want == "*" || want == is }

// ControllerPatterns returns the fields that rules and an object's ControllerFieldsAnnotation assign to controllers. The error is
// about the annotation's paths that do not parse, which are ignored.
func ControllerPatterns(kind schema.GroupKind, rules []Rule, o Object) (patterns []Pattern, unread error) {
	for _, rule := range rules {
		if rule.Matches(kind.Group, kind.Kind) {
			patterns = append(patterns, rule.Fields...)
		}
	}
	text, ok := o.ControllerFields()
	if !ok {
		return patterns, nil
	}
	own, unread := ParseControllerFields(text)
	return slices.Concat(patterns, own), unread
}

// maxErrors is the maximum number of errors that ParseControllerFields reports.
const maxErrors = 8

// ParseControllerFields parses the value of ControllerFieldsAnnotation: patterns separated by commas or line breaks. It returns
// the patterns that parse, together with an error about the first few that do not.
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

// splitOutsideBrackets splits at commas and line breaks outside of brackets. A quoted string in brackets can contain brackets.
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
