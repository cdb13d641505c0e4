package source

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Survey reads objects page by page and keeps none of them in memory. It reads autoscalers and namespaces at the beginning.
type Survey struct {
	// Autoscalers are the HorizontalPodAutoscalers and the other scalers, in no particular order. Their Presence is known after
	// Each.
	Autoscalers []Autoscaler
	// Namespaces are the modes of the namespaces in files, by name. Those of objects whose namespace is not in the files are added
	// by Each, with UnknownMode.
	Namespaces map[string]ownership.Mode
	// Gaps are descriptions of what could not be read. They are complete after Each.
	Gaps []string
	// Each reads the objects and calls visit for each page of them. Visit must not keep a page or its contents. If only some objects
	// cannot be read, that is a gap, not an error.
	Each func(ctx context.Context, visit func(Page) error) error

	query    Query
	selector labels.Selector
	facts    *facts
	scalers  *scalers
}

// Page is a part of the objects of one resource.
type Page struct {
	// Resource is the name of the resource as kubectl prints it, such as deployments.apps; empty for files.
	Resource string
	Subjects []Subject
	// Left is the number of remaining objects, or -1 if the API server does not return it.
	Left int64
}

// Survey starts a survey of a query. The query's Objects are types; without any, it surveys all kinds with a scale subresource.
// Of ReplicaSets it then surveys only those that an autoscaler targets, because a Deployment usually owns the others.
func (r Reader) Survey(ctx context.Context, q Query) (*Survey, error) {
	w, err := whoOf(r.Configuration)
	if err != nil {
		return nil, err
	}
	s := &Survey{query: q, scalers: newScalers(), Namespaces: map[string]ownership.Mode{}}
	if s.selector, err = labels.Parse(q.Selector); err != nil {
		return nil, fmt.Errorf("selector %q: %w; use the syntax of kubectl get, such as app=web", q.Selector, err)
	}
	if q.hasFiles() {
		return s, r.surveyFiles(ctx, s, w)
	}
	return s, r.surveyCluster(ctx, s, w)
}

func (s *Survey) gap(format string, args ...any) {
	s.Gaps = append(s.Gaps, fmt.Sprintf(format, args...))
}

// readScalers reads the scalers in a namespace, or in all. The query selects a scaler by its labels and by the types of itself or
// its target.
func (s *Survey) readScalers(ctx context.Context, namespace string, isNamed func(schema.GroupKind) bool) error {
	err := s.scalers.read(ctx, s.facts.from, s.facts.who.scalers, namespace, func(a *Autoscaler, set map[string]string) {
		a.Chosen = s.selector.Matches(labels.Set(set)) &&
			(len(s.query.Objects) == 0 || isNamed(a.Kind.GroupKind()) || isNamed(a.Target))
		if scales, known := s.facts.from.scalable(a.Target); a.Presence == NotKnown && known && !scales {
			a.Presence = NotScalable
		}
	})
	s.Autoscalers = s.scalers.all
	return err
}

// complete sets the scale field and the scaler of a subject, and marks it as a present target.
func (s *Survey) complete(subject *Subject, field scaleField) {
	subject.setScale(field)
	s.found(targetOf(*subject))
	if field.path != nil {
		subject.scaledBy(s.scalers)
	}
}

// found marks an object as a present target.
func (s *Survey) found(at target) {
	for _, i := range s.scalers.targets[at] {
		if a := &s.Autoscalers[i]; a.Presence == NotKnown {
			a.Presence = Present
		}
	}
}

// Rivals returns the scalers that scale a subject against each other, none if fewer than two do.
func (s *Survey) Rivals(subject Subject) (rivals []Autoscaler) {
	at := targetOf(subject)
	for _, name := range scale.Rivals(s.scalers.references[at]) {
		for _, i := range s.scalers.targets[at] {
			if a := s.Autoscalers[i]; a.Kind.Kind+"/"+a.Name == name {
				rivals = append(rivals, a)
			}
		}
	}
	return rivals
}

// stringAt returns a copy of a string in an object.
func stringAt(o ownership.Object, names ...string) string {
	text, _ := o.At(names...).String()
	return strings.Clone(text)
}
