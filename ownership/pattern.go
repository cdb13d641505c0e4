package ownership

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
)

// Pattern matches fields and the fields nested under them: a path in which any element can be a wildcard. A wildcard with a Key matches
// any list element, and names the fields that identify it in a list that has no keys itself (insideWalk).
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

// maxErrors is the maximum number of errors that ParseControllerFields reports.
const maxErrors = 8

// pathInList matches a path of a list that is separated by commas or line breaks, which a path can contain in brackets. A bracket right
// after one that closes nothing opens nothing.
var pathInList = regexp.MustCompile(`(?:[^,\n\[\]]|\]\[?|\[(?:[^\]"]|"(?:[^"\\]|\\(?s:.))*"?)*\]?)+`)

// ParseRuled parses a path of a rule. The error quotes the part that does not parse, or says why no rule can keep the field: a manifest
// cannot leave it to a controller.
func ParseRuled(text string) (Pattern, error) {
	p, err := ParsePattern(text)
	if err != nil {
		return nil, err
	}
	literal, _ := p.Path()
	identity := slices.IndexFunc(identityPaths, p.Matches)
	switch first := p[0]; {
	case !first.Wildcard && first.FieldName == nil:
		err = errors.New("begins with a list element, but an object is not a list; begin with a field, such as .spec")
	case isNamed(first.PathElement, "status"):
		err = errors.New("is in status, which manifests do not set; delete the path")
	case isNamed(first.PathElement, "stringData"):
		err = errors.New("is in stringData, which is never stored; write the key of .data")
	case p.isKey():
		err = errors.New("is a key of its list element, which identifies it; delete the path")
	case identity >= 0:
		err = fmt.Errorf("matches %s, which a manifest cannot leave to a controller; use a path that does not match it", identityPaths[identity])
	case p.Matches(LastAppliedPath()):
		err = errors.New("matches the last-applied configuration annotation, which records what was applied; " +
			`list other annotations one by one, such as .metadata.annotations["example.com/team"]`)
	case len(literal) > 0 && isNeverKept(literal):
		err = errors.New("is set by the API server or by handoff itself, and never kept; delete the path")
	default:
		return p, nil
	}
	return nil, fmt.Errorf("%s %w", shortened(strings.TrimSpace(text)), err)
}

// ParseControllerFields parses the value of ControllerFieldsAnnotation: patterns of a rule, separated by commas or line breaks. It returns
// the valid ones, together with an error about the first few of the others.
func ParseControllerFields(text string) (patterns []Pattern, err error) {
	var errs []error
	for _, part := range pathInList.FindAllString(text, -1) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if pattern, err := ParseRuled(part); err == nil {
			patterns = append(patterns, pattern)
		} else if len(errs) < maxErrors {
			errs = append(errs, err)
		}
	}
	return patterns, errors.Join(errs...)
}

// shortened truncates a text for an error message.
func shortened(text string) string {
	const maxLen = 200
	if len(text) <= maxLen {
		return text
	}
	return strings.ToValidUTF8(text[:maxLen], "") + "..."
}

// isMetadataMap reports whether a pattern is that of the labels or annotations of metadata, whose keys contain dots. The API server and
// handoff's warnings print them without brackets.
func (p Pattern) isMetadataMap() bool {
	return len(p) > 1 && isNamed(p[len(p)-2].PathElement, "metadata") && isNamed(p[len(p)-1].PathElement, "labels", "annotations")
}

// isNamed reports whether a path element is a field with one of the names.
func isNamed(element fieldpath.PathElement, names ...string) bool {
	return element.FieldName != nil && slices.Contains(names, *element.FieldName)
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

// isKey reports whether the pattern matches a field that identifies its list element, which can be nested.
func (p Pattern) isKey() bool {
	name := ""
	for i := len(p) - 1; i > 0 && p[i].FieldName != nil && !p[i].Wildcard; i-- {
		name = strings.Trim(*p[i].FieldName+"."+name, ".")
		if in := p[i-1].Key; in != nil && slices.ContainsFunc(*in, func(key value.Field) bool { return key.Name == name }) {
			return true
		}
	}
	return false
}

// isBroad reports whether the pattern matches the whole spec, in which every manifest sets fields.
func (p Pattern) isBroad() bool {
	return p[0].Wildcard || isNamed(p[0].PathElement, "spec") && (len(p) == 1 || p[1].Wildcard)
}

// Path returns the path of a pattern up to its first wildcard; ok reports whether it has none.
func (p Pattern) Path() (path fieldpath.Path, ok bool) {
	for _, matcher := range p {
		if matcher.Wildcard {
			return path, false
		}
		path = append(path, matcher.PathElement)
	}
	return path, true
}
