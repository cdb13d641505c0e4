package source

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
)

// Subject is an object with the information that determines who owns its fields.
type Subject struct {
	Object ownership.Object
	// Kind, Namespace and Name identify the object.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	Context         ownership.ObjectContext
	// Scaler is what is known about the scalers that reference the object.
	Scaler ownership.Scaler
	// Scaled is the RFC 3339 time when the autoscaler last scaled the object, or "" if unknown.
	Scaled string
	// Gaps describe what is unknown about the object, with a remedy, one sentence each.
	Gaps []string
}

// String returns the name of the object as kubectl prints it, such as deployment.apps/web.
func (s Subject) String() string { return nameOf(s.Kind.GroupKind(), s.Name) }

// Title returns the name of the object with its namespace.
func (s Subject) Title() string { return s.String() + s.In() }

// In returns the end of a kubectl command about the object, such as " -n shop". It is empty for an object outside namespaces.
func (s Subject) In() string {
	if s.Namespace == "" {
		return ""
	}
	return " -n " + s.Namespace
}

func nameOf(kind schema.GroupKind, name string) string {
	return strings.ToLower(kind.String()) + "/" + name
}

// Identity is what a manifest says about which object it describes.
type Identity struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String returns the name of the object as kubectl prints it, such as deployment.apps/web.
func (i Identity) String() string { return nameOf(i.Kind.GroupKind(), i.Name) }

// IdentityOf returns the identity of a manifest.
func IdentityOf(o *unstructured.Unstructured) Identity {
	return Identity{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// newSubject returns the subject of an object. Like kubectl's output, its text has the fields in alphabetical order.
func (l *Live) newSubject(o *unstructured.Unstructured) (s Subject, err error) {
	s = Subject{Kind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	text, err := o.MarshalJSON()
	if err == nil {
		s.Object, err = ownership.ParseObject(text)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", s, err)
	}
	rules, unread := l.rules.For(s.Kind.GroupKind(), s.Namespace, s.Object)
	s.Context.Managers = l.managers.WithRules(rules, nil)
	if unread != nil { // as in the webhook, these paths are ignored
		details := ": " + strings.ReplaceAll(unread.Error(), "\n", "; ")
		if s.IsSecret() {
			details = ""
		}
		s.gap("invalid paths in annotation %s are ignored; fix them%s", ownership.ControllerFieldsAnnotation, details)
	}
	return s, nil
}

// gap adds a gap to the subject.
func (s *Subject) gap(format string, args ...any) {
	s.Gaps = append(s.Gaps, s.String()+": "+fmt.Sprintf(format, args...))
}
