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

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// UnknownMode is the mode of a namespace that could not be read.
const UnknownMode ownership.Mode = "unknown"

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

	live      *Live
	types     []string
	selector  labels.Selector
	namespace string // empty for all
	kinds     []resourceKind
	scalers   *scalers
	whole     map[schema.GroupKind]bool // kinds of which all objects have been read
}

// Visit is called with an object, which it must not keep. Resource is the name of its resource as kubectl prints it, such as
// deployments.apps, or of its kind for files. Left is the number of objects of the resource that follow, or -1 if the API server does
// not return it.
type Visit func(resource string, s Subject, left int64) error

// Survey starts a survey of types; without any, of all kinds with a scale subresource. Of ReplicaSets it then surveys only those that
// an autoscaler targets, because a Deployment usually owns the others.
func (r Reader) Survey(ctx context.Context, types ...string) (*Survey, error) {
	s := &Survey{types: types, whole: map[schema.GroupKind]bool{}}
	var err error
	if s.selector, err = labels.Parse(r.Selector); err != nil {
		return nil, fmt.Errorf("selector %q: %w", r.Selector, err)
	}
	if s.live, err = r.Live(ctx); err != nil {
		return nil, err
	}
	if s.live.cluster != nil && !r.AllNamespaces {
		s.namespace = s.live.namespace
	}
	if s.kinds, s.Gaps, err = s.live.from.surveyed(types, s.live.kinds); err != nil {
		return nil, err
	}
	s.Namespaces = s.live.Namespaces()
	err = s.readScalers(ctx)
	return s, err
}

func (s *Survey) gap(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Gaps, text) {
		s.Gaps = append(s.Gaps, text)
	}
}

// readScalers reads the scalers. The survey selects a scaler by its labels and by the types of itself or its target.
func (s *Survey) readScalers(ctx context.Context) (err error) {
	if s.scalers, err = readScalers(ctx, s.live.from, s.live.kinds, s.namespace); err != nil {
		return err
	}
	isNamed := func(kind schema.GroupKind) bool {
		return slices.ContainsFunc(s.kinds, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
	}
	s.Autoscalers = s.scalers.all
	for i := range s.Autoscalers {
		a := &s.Autoscalers[i]
		a.Chosen = s.selector.Matches(a.labels) && (len(s.types) == 0 || isNamed(a.Kind.GroupKind()) || isNamed(a.Target))
		if scales, known := s.live.from.scalable(a.Target); a.Presence == NotKnown && known && !scales {
			a.Presence = NotScalable
		}
	}
	scales := func(k resourceKind) bool {
		is, _ := s.live.from.scalable(k.gvk.GroupKind())
		return is
	}
	if slices.ContainsFunc(s.kinds, scales) {
		for _, kind := range s.scalers.unread {
			s.gap("unknown which objects %ss target%s; %s", kind.name, kind.because, kind.remedy)
		}
	}
	return nil
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
		read, err := s.live.from.list(ctx, kind.gvk.GroupKind(), s.namespace, s.selector, each)
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

// eachTarget visits the ReplicaSets that autoscalers target, if the survey has neither types nor labels.
func (s *Survey) eachTarget(ctx context.Context, visit Visit) error {
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	for i := range s.Autoscalers {
		a := &s.Autoscalers[i]
		if a.Presence != NotKnown || !isReplicaSet(a.Target) || len(s.types) > 0 || !s.selector.Empty() {
			continue
		}
		o, err := s.live.from.get(ctx, Identity{a.Target.WithVersion(""), a.Namespace, a.TargetName}, "")
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
		if err := s.settleKind(ctx, kind, all); err != nil {
			return err
		}
	}
	return nil
}

// settleKind determines which targets of a kind exist. It lists them unless all objects of the kind have been read: the
// autoscalers were listed before them. In files, which need not contain all objects, a target is also missing or present if the
// autoscaler's status says so, and missing if there are others of its kind in its namespace.
func (s *Survey) settleKind(ctx context.Context, kind schema.GroupKind, open []*Autoscaler) error {
	exists, read := map[target]bool{}, access{complete: true}
	var err error
	if s.live.cluster == nil || !s.whole[kind] {
		read, err = s.live.from.list(ctx, kind, s.namespace, labels.Everything(), func(o *unstructured.Unstructured, _ int64) error {
			exists[target{namespace: o.GetNamespace(), name: o.GetName()}], exists[target{namespace: o.GetNamespace()}] = true, true
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if s.live.cluster != nil && !read.complete {
		s.gap("unknown whether the targets of %d autoscalers exist; %s", len(open), read.remedy)
		return nil
	}
	var unknown []string
	for _, a := range open {
		switch {
		case exists[target{namespace: a.Namespace, name: a.TargetName}], s.live.cluster == nil && a.Since == "" && a.able:
			a.Presence = Present
		case s.live.cluster != nil, a.Since != "", exists[target{namespace: a.Namespace}]:
			a.Presence = Missing
		default:
			unknown = append(unknown, a.TargetText())
		}
	}
	if len(unknown) > 0 {
		s.gap("unknown whether the targets %s of autoscalers exist; add them to the files", printable.Some(unknown))
	}
	return nil
}

// visit calls visit with the subject of an object, and marks it as a present target. Of is the name of its resource or kind.
func (s *Survey) visit(ctx context.Context, o *unstructured.Unstructured, of string, left int64, visit Visit) error {
	subject, err := s.live.newSubject(o)
	if err != nil {
		return err
	}
	field, err := s.live.setScale(ctx, &subject)
	if err != nil {
		return err
	}
	if field.gap != "" {
		s.gap("%s: %s", of, field.gap)
	}
	for _, i := range s.scalers.targets[targetOf(subject)] {
		if a := &s.Autoscalers[i]; a.Presence == NotKnown {
			a.Presence = Present
		}
	}
	if field.path != nil {
		subject.scaledBy(s.scalers)
	}
	if _, known := s.Namespaces[subject.Namespace]; s.live.cluster == nil && !known && subject.Namespace != "" {
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
