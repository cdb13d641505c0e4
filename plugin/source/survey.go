package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Survey reads objects page by page and keeps none of them in memory. It reads autoscalers and namespaces at the beginning.
type Survey struct {
	// Autoscalers are the HorizontalPodAutoscalers and the other scalers, in no particular order. Their Presence is known after
	// Each.
	Autoscalers []Autoscaler
	// Namespaces are the modes of the namespaces in files, by name.
	Namespaces map[string]ownership.Mode

	query   Query
	facts   *facts
	scalers *scalers
	gaps    []string
	each    func(ctx context.Context, visit func(Page) error) error
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
	if q.hasFiles() {
		return s, r.surveyFiles(ctx, s, w)
	}
	return s, r.surveyCluster(ctx, s, w)
}

// Each reads the objects and calls visit for each page of them. Visit must not keep a page or its contents. If only some objects
// cannot be read, that is a gap, not an error.
func (s *Survey) Each(ctx context.Context, visit func(Page) error) error { return s.each(ctx, visit) }

// Gaps returns descriptions of what could not be read. They are complete after Each.
func (s *Survey) Gaps() []string { return s.gaps }

func (s *Survey) gap(format string, args ...any) {
	s.gaps = append(s.gaps, fmt.Sprintf(format, args...))
}

// readScalers reads the scalers in a namespace, or in all. The query selects a scaler by its labels and by the types of itself or
// its target.
func (s *Survey) readScalers(ctx context.Context, namespace string, isNamed func(schema.GroupKind) bool) error {
	selector, err := s.selector()
	if err != nil {
		return err
	}
	err = s.scalers.read(ctx, s.facts.from, s.facts.who.scalers, namespace, func(a *Autoscaler, set map[string]string) {
		a.Chosen = selector.Matches(labels.Set(set)) &&
			(len(s.query.Objects) == 0 || isNamed(a.Kind.GroupKind()) || isNamed(a.Target))
		if scales, known := s.facts.from.scalable(a.Target); a.Presence == NotKnown && known && !scales {
			a.Presence = NotScalable
		}
	})
	s.Autoscalers = s.scalers.all
	return err
}

func (s *Survey) selector() (labels.Selector, error) {
	selector, err := labels.Parse(s.query.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w; use the syntax of kubectl get, such as app=web", s.query.Selector, err)
	}
	return selector, nil
}

// On returns the HorizontalPodAutoscalers that target a subject, sorted by name.
func (s *Survey) On(subject Subject) []Autoscaler {
	positions := s.scalers.targets[targetOf(subject)]
	on := make([]Autoscaler, 0, len(positions))
	for _, i := range positions {
		if s.Autoscalers[i].isHPA() {
			on = append(on, s.Autoscalers[i])
		}
	}
	slices.SortFunc(on, func(a, b Autoscaler) int { return strings.Compare(a.Name, b.Name) })
	return on
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

// Rivals returns the scalers that scale a subject against each other, nil if fewer than two do.
func (s *Survey) Rivals(subject Subject) []string {
	at := targetOf(subject)
	references := slices.Clone(s.scalers.references[at])
	for _, hpa := range s.scalers.hpasOn(at) {
		references = append(references, scale.Targeting([]autoscalingv2.HorizontalPodAutoscaler{hpa}, at.kind, at.name)...)
	}
	return scale.Rivals(references)
}

// stringAt returns a copy of a string in an object.
func stringAt(o ownership.Object, names ...any) string {
	return strings.Clone(unquoted(o.Value(fieldpath.MakePathOrDie(names...))))
}
