package ownership

import (
	"errors"
	"strings"
)

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
