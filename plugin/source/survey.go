package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	facts     *facts
	types     []string
	selector  labels.Selector
	namespace string // empty for all
	kinds     []resourceKind
	scalers   *scalers
	whole     map[schema.GroupKind]bool        // kinds of which all objects have been read
	reported  map[schema.GroupVersionKind]bool // kinds with a gap
}

// Visit is called with an object, which it must not keep. Resource is the name of its resource as kubectl prints it, such as
// deployments.apps, or of its kind for files. Left is the number of objects of the resource that follow, or -1 if the API server does
// not return it.
type Visit func(resource string, s Subject, left int64) error

// Survey starts a survey of a query. The query's Objects are types; without any, it surveys all kinds with a scale subresource.
// Of ReplicaSets it then surveys only those that an autoscaler targets, because a Deployment usually owns the others.
func (r Reader) Survey(ctx context.Context, q Query) (*Survey, error) {
	s := &Survey{
		types: q.Objects, scalers: newScalers(), Namespaces: map[string]ownership.Mode{},
		whole: map[schema.GroupKind]bool{}, reported: map[schema.GroupVersionKind]bool{},
	}
	var err error
	if s.selector, err = labels.Parse(q.Selector); err != nil {
		return nil, fmt.Errorf("selector %q: %w", q.Selector, err)
	}
	if s.facts, err = r.open(ctx, q.Files); err != nil {
		return nil, err
	}
	if s.facts.cluster != nil && !q.AllNamespaces {
		s.namespace = s.facts.namespace
	}
	if s.kinds, s.Gaps, err = s.facts.from.surveyed(q.Objects, s.facts.who.scalers); err != nil {
		return nil, err
	}
	if in, ok := s.facts.from.(*files); ok {
		for _, o := range in.of(namespaceKind()) {
			s.Namespaces[o.GetName()] = modeOf(o)
		}
	}
	err = s.readScalers(ctx)
	return s, err
}

func (s *Survey) gap(format string, args ...any) {
	s.Gaps = append(s.Gaps, fmt.Sprintf(format, args...))
}

// readScalers reads the scalers. The query selects a scaler by its labels and by the types of itself or its target.
func (s *Survey) readScalers(ctx context.Context) error {
	isNamed := func(kind schema.GroupKind) bool {
		return slices.ContainsFunc(s.kinds, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
	}
	from := s.facts.from
	err := s.scalers.read(ctx, from, s.facts.who.scalers, s.namespace, func(a *Autoscaler, set map[string]string) {
		a.Chosen = s.selector.Matches(labels.Set(set)) && (len(s.types) == 0 || isNamed(a.Kind.GroupKind()) || isNamed(a.Target))
		if scales, known := from.scalable(a.Target); a.Presence == NotKnown && known && !scales {
			a.Presence = NotScalable
		}
	})
	s.Autoscalers = s.scalers.all
	scales := func(k resourceKind) bool {
		is, _ := from.scalable(k.gvk.GroupKind())
		return is
	}
	if slices.ContainsFunc(s.kinds, scales) {
		for _, kind := range s.scalers.unread {
			s.gap("unknown which objects %ss target%s; %s", kind.name, kind.read.because, kind.read.remedy)
		}
	}
	return err
}

// Each reads the objects and calls visit for each of them, and then determines which targets of autoscalers exist. If only some objects
// cannot be read, that is a gap, not an error.
func (s *Survey) Each(ctx context.Context, visit Visit) error {
	var first error
	var forbidden []string
	for _, kind := range s.kinds {
		each := func(o *unstructured.Unstructured, left int64) error {
			s.read(kind.resource)
			return s.visit(ctx, o, kind.String(), left, visit)
		}
		read, err := s.facts.from.list(ctx, kind.gvk.GroupKind(), s.namespace, s.selector, each)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.gap("%s: incomplete list: %v", kind, err)
			if first == nil {
				first = err
			}
		case !read.complete:
			forbidden = append(forbidden, kind.String())
		default:
			s.read(kind.resource)
			s.whole[kind.gvk.GroupKind()] = s.selector.Empty()
		}
	}
	switch {
	case len(s.Resources) == 0 && first != nil:
		return first
	case len(s.Resources) == 0 && len(forbidden) > 0:
		return fmt.Errorf("cannot list %s; ask for permission to list them %s", strings.Join(forbidden, ", "), where(s.namespace))
	case len(forbidden) > 0:
		s.gap("%s were not audited; ask for permission to list them %s", strings.Join(forbidden, ", "), where(s.namespace))
	}
	if err := s.eachTarget(ctx, visit); err != nil {
		return err
	}
	return s.settle(ctx)
}

// read records that objects of a resource were read; those in files have none.
func (s *Survey) read(resource schema.GroupVersionResource) {
	if name := resource.GroupResource().String(); !resource.Empty() && !slices.Contains(s.Resources, name) {
		s.Resources = append(s.Resources, name)
	}
}

// eachTarget visits the ReplicaSets that autoscalers target, if the query has neither types nor labels.
func (s *Survey) eachTarget(ctx context.Context, visit Visit) error {
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	for i := range s.Autoscalers {
		a := &s.Autoscalers[i]
		if a.Presence != NotKnown || !isReplicaSet(a.Target) || len(s.types) > 0 || !s.selector.Empty() {
			continue
		}
		o, err := s.facts.from.get(ctx, Identity{a.Target.WithVersion(""), a.Namespace, a.TargetName}, "")
		switch {
		case apierrors.IsForbidden(err), err == nil && o == nil:
			continue
		case err != nil:
			return err
		}
		s.read(resource)
		if err := s.visit(ctx, o, resource.GroupResource().String(), -1, visit); err != nil {
			return err
		}
	}
	return nil
}

// settle determines whether the targets exist that have not been read.
func (s *Survey) settle(ctx context.Context) error {
	open := map[schema.GroupKind][]*Autoscaler{}
	for i := range s.Autoscalers {
		if a := &s.Autoscalers[i]; a.Presence == NotKnown && a.Chosen {
			open[a.Target] = append(open[a.Target], a)
		}
	}
	for kind, all := range open {
		gap, err := s.facts.from.settle(ctx, all, s.namespace, s.whole[kind])
		if err != nil {
			return err
		}
		if gap != "" {
			s.Gaps = append(s.Gaps, gap)
		}
	}
	return nil
}

// visit calls visit with the subject of an object, and marks it as a present target. Of is the name of its resource or kind.
func (s *Survey) visit(ctx context.Context, o *unstructured.Unstructured, of string, left int64, visit Visit) error {
	subject, err := newSubject(o, s.facts.who)
	if err != nil {
		return err
	}
	field, err := s.facts.scaleOf(ctx, subject.Kind)
	if err != nil {
		return err
	}
	if field.gap != "" && !s.reported[subject.Kind] {
		s.reported[subject.Kind] = true
		s.gap("%s: %s", of, field.gap)
	}
	subject.setScale(field)
	for _, i := range s.scalers.targets[targetOf(subject)] {
		if a := &s.Autoscalers[i]; a.Presence == NotKnown {
			a.Presence = Present
		}
	}
	if field.path != nil {
		subject.scaledBy(s.scalers)
	}
	if _, known := s.Namespaces[subject.Namespace]; s.facts.cluster == nil && !known && subject.Namespace != "" {
		s.Namespaces[subject.Namespace] = UnknownMode
	}
	return visit(of, subject, left)
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
