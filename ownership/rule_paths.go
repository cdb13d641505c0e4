package ownership

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

// Pattern matches fields and the fields nested under them: a path in which any element can be a wildcard (ParsePattern).
type Pattern = fieldpattern.Pattern

// ParsePattern parses a path as the API server prints it in conflicts, with wildcards (fieldpattern.Parse).
func ParsePattern(text string) (Pattern, error) { return fieldpattern.Parse(text) }

// maxErrors is the maximum number of errors that ParseControllerFields reports.
const maxErrors = 8

// pathInList matches a path of a list that is separated by commas or line breaks, which a path can contain in brackets. A bracket right
// after one that closes nothing opens nothing.
var pathInList = regexp.MustCompile(`(?:[^,\n\[\]]|\]\[?|\[(?:[^\]"]|"(?:[^"\\]|\\(?s:.))*"?)*\]?)+`)

// ParseRuled parses a path of a rule. The error quotes the part that does not parse, or says why no rule can keep the field: a manifest
// cannot leave it to a controller.
func ParseRuled(text string) (Pattern, error) {
	p, err := fieldpattern.Parse(text)
	if err != nil {
		return nil, err
	}
	literal, _ := p.Path()
	identity := slices.IndexFunc(apitypes.IdentityPaths(), p.Matches)
	switch first := p[0]; {
	case !first.Wildcard && first.FieldName == nil:
		err = errors.New("begins with a list element, but an object is not a list; begin with a field, such as .spec")
	case fieldpattern.IsNamed(first.PathElement, "status"):
		err = errors.New("is in status, which manifests do not set; delete the path")
	case fieldpattern.IsNamed(first.PathElement, "stringData"):
		err = errors.New("is in stringData, which is never stored; write the key of .data")
	case p.IsKey():
		err = errors.New("is a key of its list element, which identifies it; delete the path")
	case identity >= 0:
		err = fmt.Errorf("matches %s, which a manifest cannot leave to a controller; use a path that does not match it",
			apitypes.IdentityPaths()[identity])
	case p.Matches(LastAppliedPath()):
		err = errors.New("matches the last-applied configuration annotation, which records what was applied; " +
			`list other annotations one by one, such as .metadata.annotations["example.com/team"]`)
	case len(literal) > 0 && isNeverKept(literal):
		err = errors.New("is set by the API server or by handoff itself, and never kept; delete the path")
	default:
		return p, nil
	}
	return nil, fmt.Errorf("%s %w", fieldpattern.Shortened(strings.TrimSpace(text)), err)
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

// ownPrefix is the prefix of handoff's own label and annotations, which are never kept.
const ownPrefix = "ownership-handoff.io/"

// isOwn reports whether a path is that of a label or annotation by which handoff is configured, or of last-applied.
func isOwn(path fieldpath.Path) bool {
	name := path[len(path)-1].FieldName
	return name != nil && (strings.HasPrefix(*name, ownPrefix) || *name == LastAppliedAnnotation)
}

// isNeverKept reports whether no rule keeps a field: those that identify the object, its managedFields and last-applied
// configuration, status, and handoff's own label and annotations.
func isNeverKept(path fieldpath.Path) bool {
	return isOwn(path) || apitypes.InStatus(path) || apitypes.IsIdentity(path)
}
