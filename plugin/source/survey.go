package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// Survey reads objects page by page and keeps none of them in memory. It reads autoscalers and namespaces at the beginning.
type Survey struct {
	// Autoscalers are the HorizontalPodAutoscalers and the other scalers, in no particular order. Whether their targets are missing is
	// known after Each.
	Autoscalers []*Autoscaler
	// Namespace is the surveyed namespace, empty for all.
	Namespace string
	// Namespaces are the namespaces in files.
	Namespaces []*unstructured.Unstructured
	// Resources are the names of the resources that were read, as kubectl prints them; none for files. Gaps are descriptions of what
	// could not be read. Both are complete after Each.
	Resources, Gaps []string

	reader  *Reader
	types   []string
	kinds   []*Resource
	scalers *scalers
	whole   map[schema.GroupKind]bool // kinds of which all objects have been read
	seen    map[Identity]bool         // the kinds that namespaces have objects of
}

// Survey starts a survey of types; without any, of all kinds with a scale subresource. Of ReplicaSets it then surveys only those that
// an autoscaler targets, because a Deployment usually owns the others.
func (r *Reader) Survey(ctx context.Context, types ...string) (*Survey, error) {
	s := &Survey{reader: r, types: types, whole: map[schema.GroupKind]bool{}, seen: map[Identity]bool{}}
	if slices.Contains(types, Scalable) {
		s.types = nil
	}
	if !r.AllNamespaces {
		s.Namespace = r.namespace
	}
	var err error
	if s.kinds, s.Gaps, err = r.from.surveyed(types); err != nil {
		return nil, err
	}
	if in, ok := r.from.(*fileOrigin); ok {
		s.Namespaces = in.of(schema.GroupKind{Kind: "Namespace"})
	}
	if s.scalers, err = r.scalersIn(ctx, s.Namespace); err != nil {
		return nil, err
	}
	err = s.chooseScalers(ctx)
	return s, err
}

func (s *Survey) gap(text string) {
	if !slices.Contains(s.Gaps, text) {
		s.Gaps = append(s.Gaps, text)
	}
}

// chooseScalers selects scalers by their labels and by the types of themselves or their targets, and ReplicaSets if scalers target any.
func (s *Survey) chooseScalers(ctx context.Context) error {
	isNamed := func(kind schema.GroupKind) bool {
		return slices.ContainsFunc(s.kinds, func(k *Resource) bool { return k.Kind.GroupKind() == kind })
	}
	s.Autoscalers = s.scalers.all
	for _, a := range s.Autoscalers {
		kind := a.Reference.Target
		a.Chosen = s.reader.selector.Matches(a.labels) && (len(s.types) == 0 || isNamed(a.Kind.GroupKind()) || isNamed(kind))
		if a.Chosen && a.Problem == "" {
			field, err := s.reader.scaleField(ctx, kind.WithVersion(""))
			if err != nil {
				return err
			}
			a.NotScalable = field.path == nil && field.gap == ""
		}
	}
	if slices.ContainsFunc(s.kinds, func(k *Resource) bool { return k.Scales }) {
		for _, gap := range s.scalers.unread {
			s.gap(gap)
		}
	}
	isReference := func(a *Autoscaler) bool { return a.Chosen && a.Reference.Target == replicaSet }
	s.kinds = slices.DeleteFunc(s.kinds, func(k *Resource) bool {
		return len(s.types) == 0 && k.Kind.GroupKind() == replicaSet && !slices.ContainsFunc(s.Autoscalers, isReference)
	})
	return nil
}

// Each reads the objects and calls visit, which must not keep them, and then determines which targets of autoscalers exist. If only some
// objects cannot be read, that is a gap, not an error.
func (s *Survey) Each(ctx context.Context, visit func(Subject) error) error {
	var first error
	for _, kind := range s.kinds {
		visited := false
		see := func(o *unstructured.Unstructured) error {
			visited = true
			s.find(o)
			if at := IdentityOf(o).inAnyVersion(); len(s.types) == 0 && at.Kind.GroupKind() == replicaSet && s.scalers.of[at] == nil {
				return nil
			}
			subject, err := s.reader.subject(ctx, o, true)
			if err != nil {
				return err
			}
			for _, gap := range subject.Gaps {
				s.gap(gap)
			}
			return visit(subject)
		}
		complete, why, err := s.reader.from.list(ctx, kind.Kind.GroupKind(), s.Namespace, s.reader.selector, see)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			err = fmt.Errorf("%s: incomplete list: %w", kind, err)
		case !complete:
			err = fmt.Errorf("%s: incomplete list%s", kind, why)
		default:
			s.whole[kind.Kind.GroupKind()] = s.reader.selector.Empty()
		}
		if err != nil {
			s.gap(err.Error())
			first = cmp.Or(first, err)
		}
		if (complete || visited) && s.reader.cluster != nil {
			s.Resources = append(s.Resources, kind.String())
		}
	}
	if len(s.Resources) == 0 && first != nil {
		return first
	}
	return s.settle(ctx)
}

// find marks an object as the target of autoscalers.
func (s *Survey) find(o *unstructured.Unstructured) {
	at := IdentityOf(o).inAnyVersion()
	for _, a := range s.scalers.of[at] {
		a.found = true
	}
	s.seen[Identity{Kind: at.Kind, Namespace: at.Namespace}] = true
}

// settle determines whether the targets exist that have not been visited. In files, which need not contain all objects, a target is also
// missing or present if the autoscaler's status says so, and missing if there are others of its kind in its namespace.
func (s *Survey) settle(ctx context.Context) error {
	online := s.reader.cluster != nil
	open := map[schema.GroupKind][]*Autoscaler{}
	for _, a := range s.Autoscalers {
		if a.found = a.found || a.able && !online; a.Chosen && a.Problem == "" && !a.NotScalable && !a.found {
			open[a.Reference.Target] = append(open[a.Reference.Target], a)
		}
	}
	var unknown []string
	for kind, scalers := range open {
		if !s.whole[kind] { // the autoscalers were listed before their targets
			complete, why, err := s.reader.from.list(ctx, kind, s.Namespace, labels.Everything(), func(o *unstructured.Unstructured) error {
				s.find(o)
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			if online && !complete {
				s.gap(fmt.Sprintf("unknown whether the targets of %d autoscalers exist%s", len(scalers), why))
				continue
			}
		}
		for _, a := range scalers {
			a.Missing = !a.found && (online || a.Since != "" || s.seen[Identity{Kind: kind.WithVersion(""), Namespace: a.Namespace}])
			if !a.found && !a.Missing {
				unknown = append(unknown, a.Target().String())
			}
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		s.gap(fmt.Sprintf("unknown whether the targets %s of autoscalers exist; add them to the files", printable.Some(unknown)))
	}
	return nil
}

// Rivals returns the scalers that scale a subject against each other, none if fewer than two do.
func (s *Survey) Rivals(subject Subject) (rivals []*Autoscaler) {
	at := subject.inAnyVersion()
	for _, name := range scale.Rivals(s.scalers.references(at)) {
		for _, a := range s.scalers.of[at] {
			if a.Reference.Scaler == name {
				rivals = append(rivals, a)
			}
		}
	}
	return rivals
}
