package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
)

// Pattern matches fields and the fields nested under them: a path in which any element can be a wildcard. A wildcard with a Key matches
// any list element, and names the fields that identify it in a list that has no keys itself (insideAtomic).
type Pattern []fieldpath.PathElementMatcher

// ParsePattern parses a path as the API server prints it in conflicts, such as
// .spec.template.spec.containers[name="app"].resources. The wildcard *, as in .data.* or containers[*], matches any field,
// key, value or index. In quotes it is not a wildcard: containers[name="*"] is the container named *. The wildcard [name=*] matches any
// element of a list, which name identifies, and [destination.host=*] is the same for a nested field. A field name that contains a dot is written in brackets and quotes: .data["a.b"]. Labels and annotations need none: .metadata.labels.a.b/c. The error
// quotes the part that does not parse.
func ParsePattern(text string) (Pattern, error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, errors.New("path is empty")
	}
	var pattern Pattern
	for rest != "" {
		element, after, err := parseElement(rest)
		if err == nil && len(pattern) == fieldtree.MaxDepth {
			err = fmt.Errorf("a path can have at most %d elements", fieldtree.MaxDepth)
		}
		if err != nil {
			return nil, fmt.Errorf("path %s: at %q: %w", shortened(text), shortened(rest), err)
		}
		pattern, rest = append(pattern, element), after
		if name, ok := strings.CutPrefix(rest, "."); ok && name != "" && !strings.ContainsAny(name, "[, ") && pattern.isMetadataMap() {
			return append(pattern, fieldMatcher(name)), nil
		}
	}
	return pattern, nil
}

// isMetadataMap reports whether a pattern is that of the labels or annotations of metadata, whose keys contain dots. The API server and
// handoff's warnings print them without brackets.
func (p Pattern) isMetadataMap() bool {
	if len(p) < 2 {
		return false
	}
	in, last := p[len(p)-2].FieldName, p[len(p)-1].FieldName
	return in != nil && last != nil && *in == "metadata" && (*last == "labels" || *last == "annotations")
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
		if in := p[i-1].Key; in != nil && slices.ContainsFunc(*in, func(key value.Field) bool { return key.Name == name }) {
			return true
		}
	}
	return false
}

// IsNeverKept reports whether no rule keeps any field that the pattern matches (isNeverKept).
func (p Pattern) IsNeverKept() bool {
	end := slices.IndexFunc(p, func(m fieldpath.PathElementMatcher) bool { return m.Wildcard })
	if end < 0 {
		end = len(p)
	}
	literal, _ := p[:end].path()
	return end > 0 && isNeverKept(literal)
}

// isBroad reports whether the pattern matches the whole spec, in which every manifest sets fields.
func (p Pattern) isBroad() bool {
	isSpec := p[0].FieldName != nil && *p[0].FieldName == "spec"
	return p[0].Wildcard || isSpec && (len(p) == 1 || p[1].Wildcard)
}

// patternOf returns the pattern of a path.
func patternOf(path fieldpath.Path) (pattern Pattern) {
	for _, element := range path {
		pattern = append(pattern, fieldpath.PathElementMatcher{PathElement: element})
	}
	return pattern
}

// path returns the path of a pattern without wildcards.
func (p Pattern) path() (path fieldpath.Path, ok bool) {
	for _, matcher := range p {
		if matcher.Wildcard {
			return nil, false
		}
		path = append(path, matcher.PathElement)
	}
	return path, true
}

// shortened truncates a text for an error message.
func shortened(text string) string {
	const maxLen = 200
	if len(text) <= maxLen {
		return text
	}
	return strings.ToValidUTF8(text[:maxLen], "") + "..."
}
