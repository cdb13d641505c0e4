package source

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	// Resources are the names of the resources that were read, as kubectl prints them; none for files. Gaps are descriptions of what
	// could not be read. Both are complete after Each.
	Resources, Gaps []string
	// Each reads the objects and calls visit for each of them. If only some objects cannot be read, that is a gap, not an error.
	Each func(ctx context.Context, visit Visit) error

	query    Query
	selector labels.Selector
	facts    *facts
	scalers  *scalers
	reported map[schema.GroupVersionKind]bool // kinds with a gap
}

// Visit is called with an object, which it must not keep. Resource is the name of its resource as kubectl prints it, such as
// deployments.apps, or empty for files. Left is the number of objects of the resource that follow, or -1 if the API server does not
// return it.
type Visit func(resource string, s Subject, left int64) error

// Survey starts a survey of a query. The query's Objects are types; without any, it surveys all kinds with a scale subresource.
// Of ReplicaSets it then surveys only those that an autoscaler targets, because a Deployment usually owns the others.
func (r Reader) Survey(ctx context.Context, q Query) (*Survey, error) {
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w", q.Selector, err)
	}
	s := &Survey{query: q, selector: selector, scalers: newScalers(), Namespaces: map[string]ownership.Mode{}, reported: map[schema.GroupVersionKind]bool{}}
	if q.hasFiles() {
		return s, r.surveyFiles(ctx, s)
	}
	return s, r.surveyCluster(ctx, s)
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

// subject returns the subject of an object with its scale field and its scaler, and marks it as a present target. Of is the name of
// its kind in gaps.
func (s *Survey) subject(ctx context.Context, o *unstructured.Unstructured, of string) (Subject, error) {
	subject, err := newSubject(o, s.facts.who)
	if err != nil {
		return subject, err
	}
	field, err := s.facts.scaleOf(ctx, subject.Kind)
	if err != nil {
		return subject, err
	}
	if field.gap != "" && !s.reported[subject.Kind] {
		s.reported[subject.Kind] = true
		s.gap("%s: %s", of, field.gap)
	}
	subject.setScale(field)
	s.found(targetOf(subject))
	if field.path != nil {
		subject.scaledBy(s.scalers)
	}
	return subject, nil
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
