package source

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
)

// Subject is an object, with all that is known about who owns its fields.
type Subject struct {
	Object ownership.Object
	// Kind, Namespace and Name say which object it is.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	Context         ownership.ObjectContext
	// Desired is how many replicas the autoscaler wants that targets the object.
	Desired int64
	// Scaled is when it last scaled the object, RFC 3339; empty where it has not, or that is not known.
	Scaled string
	// Gaps say, a sentence each, what could not be found out about the object, and what to do about it.
	Gaps []string
}

// String names the object as kubectl does: deployment.apps/web.
func (s Subject) String() string { return nameOf(s.Kind, s.Name) }

// Title names the object with its namespace.
func (s Subject) Title() string {
	if s.Namespace == "" {
		return s.String()
	}
	return s.String() + " -n " + s.Namespace
}

func nameOf(kind schema.GroupVersionKind, name string) string {
	return strings.ToLower(kind.GroupKind().String()) + "/" + name
}

// who is the configuration as subjects need it.
type who struct {
	managers ownership.Managers
	rules    []ownership.Rule
}

func whoOf(c config.HandoffConfiguration) (who, error) {
	rules, err := c.Rules()
	return who{c.Managers(), rules}, err
}

// newSubject reads an object as ownership does. Its text is that of kubectl: fields in the order of their names.
func newSubject(o *unstructured.Unstructured, w who) (Subject, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return Subject{}, fmt.Errorf("%s: %w", nameOf(o.GroupVersionKind(), o.GetName()), err)
	}
	return w.subject(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), text)
}

// subject reads the text of an object, which must not change afterwards.
func (w who) subject(kind schema.GroupVersionKind, namespace, name string, text []byte) (s Subject, err error) {
	s = Subject{Kind: kind, Namespace: namespace, Name: name}
	if s.Object, err = ownership.ParseObject(text); err != nil {
		return s, fmt.Errorf("%s: %w", s, err)
	}
	s.Context.Managers = w.managers
	for _, rule := range w.rules {
		if rule.Fits(s.Kind.Group, s.Kind.Kind) {
			s.Context.Controlled = append(s.Context.Controlled, rule.Fields...)
		}
	}
	s.annotated()
	return s, nil
}

// annotated adds what the object itself gives to controllers. As in the webhook, a path that does not parse counts for
// nothing.
func (s *Subject) annotated() {
	text, ok := s.Object.ControllerFields()
	if !ok {
		return
	}
	own, err := ownership.ParseControllerFields(text)
	s.Context.Controlled = append(s.Context.Controlled, own...)
	if err != nil && s.IsSecret() {
		s.gap("annotation %s counts for nothing where it cannot be read; correct it", ownership.ControllerFieldsAnnotation)
	} else if err != nil {
		s.gap("annotation %s counts for nothing where it cannot be read; correct it: %v", ownership.ControllerFieldsAnnotation,
			strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// gap notes what is not known of the subject.
func (s *Subject) gap(format string, args ...any) {
	s.Gaps = append(s.Gaps, s.String()+": "+fmt.Sprintf(format, args...))
}
