package ownership

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
)

// Pattern names fields and all that is in them: a path in which any element can be a wildcard. ParsePattern reads one.
type Pattern []fieldpath.PathElementMatcher

// ParsePattern reads a path as the API server prints it in conflicts, such as
// .spec.template.spec.containers[name="app"].resources. An element "*", as in .data.* or containers[*], stands for any
// field, key, value or index; in quotes it is none: containers[name="*"] is the container with that name. A field name that
// holds a dot is written in brackets and quotes: .metadata.labels["a.b/c"]. The error says at which part of the text.
func ParsePattern(text string) (Pattern, error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, errors.New("path is empty")
	}
	var pattern Pattern
	for rest != "" {
		element, after, err := parseElement(rest)
		if err == nil && len(pattern) == fieldtree.MaxDepth {
			err = fmt.Errorf("a path has %d elements at most", fieldtree.MaxDepth)
		}
		if err != nil {
			return nil, fmt.Errorf("path %s: at %q: %w", shortened(text), shortened(rest), err)
		}
		pattern, rest = append(pattern, element), after
	}
	return pattern, nil
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

// shortened returns the beginning of a text for a message.
func shortened(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
