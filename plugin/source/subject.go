package source

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/ownership"
)

// Subject is an object with the information that determines who owns its fields.
type Subject struct {
	Identity
	Object  ownership.Object
	Context ownership.ObjectContext
	// Scaled is the RFC 3339 time when the autoscaler last scaled the object, or "" if unknown.
	Scaled string
	// Gaps describe what is unknown about the object, with a remedy, one sentence each.
	Gaps []string
}

// newSubject returns the subject of an object. Like kubectl's output, its text has the fields in alphabetical order.
func (r *Reader) newSubject(o *unstructured.Unstructured) (s Subject, err error) {
	s.Identity = IdentityOf(o)
	if s.Object, err = Parse(o); err != nil {
		return s, fmt.Errorf("%s: %w", s, err)
	}
	rules, unread := r.rules.For(s.Kind.GroupKind(), s.Namespace, s.Object)
	s.Context.Managers = r.managers.WithRules(rules, nil)
	if unread != nil { // as in the webhook, these paths are ignored
		details := ": " + strings.ReplaceAll(unread.Error(), "\n", "; ")
		if s.IsSecret() {
			details = ""
		}
		s.Gap("invalid paths in annotation %s are ignored; fix them%s", ownership.ControllerFieldsAnnotation, details)
	}
	return s, nil
}

// Parse returns an object as the packages that decide read it.
func Parse(o *unstructured.Unstructured) (ownership.Object, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return ownership.Object{}, err
	}
	return ownership.ParseObject(text)
}

// Gap adds a gap to the subject.
func (s *Subject) Gap(format string, args ...any) {
	s.Gaps = append(s.Gaps, s.String()+": "+fmt.Sprintf(format, args...))
}
