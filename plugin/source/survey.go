package source

import (
	"cmp"
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

// Survey reads objects page by page and keeps none of them in memory. It reads autoscalers and namespaces at the beginning.
type Survey struct {
	// Autoscalers are the HorizontalPodAutoscalers and the other scalers, in no particular order. Their Presence is known after
	// Each.
	Autoscalers []*Autoscaler
	// Namespaces are the modes of the namespaces in files, by name. Each adds those that are not in the files, without a mode.
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

// Visit is called with an object, which it must not keep.
type Visit func(s Subject) error

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
	if !r.Offline() && !r.AllNamespaces {
		s.namespace = s.live.namespace
	}
	if s.kinds, s.Gaps, err = s.live.from.surveyed(types); err != nil {
		return nil, err
	}
	s.Namespaces = s.live.Namespaces()
	if s.scalers, err = readScalers(ctx, s.live.from, s.live.kinds, s.namespace); err != nil {
		return nil, err
	}
	s.chooseScalers()
	return s, nil
}

func (s *Survey) gap(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Gaps, text) {
		s.Gaps = append(s.Gaps, text)
	}
}

// chooseScalers selects scalers by their labels and by the types of themselves or their targets.
func (s *Survey) chooseScalers() {
	isNamed := func(kind schema.GroupKind) bool {
		return slices.ContainsFunc(s.kinds, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
	}
	s.Autoscalers = s.scalers.all
	for _, a := range s.Autoscalers {
		a.Chosen = s.selector.Matches(a.labels) && (len(s.types) == 0 || isNamed(a.Kind.GroupKind()) || isNamed(a.Reference.Target))
		if scales, known := s.live.from.scalable(a.Reference.Target); a.Presence == NotKnown && known && !scales {
			a.Presence = NotScalable
		}
	}
	scales := func(k resourceKind) bool {
		is, _ := s.live.from.scalable(k.gvk.GroupKind())
		return is
	}
	if slices.ContainsFunc(s.kinds, scales) {
		for _, kind := range s.scalers.unread {
			s.gap("unknown which objects %ss target%s", kind.name, kind.why)
		}
	}
}

// Each reads the objects and calls visit for each of them, and then determines which targets of autoscalers exist. If only some objects
// cannot be read, that is a gap, not an error.
func (s *Survey) Each(ctx context.Context, visit Visit) error {
	var first error
	var forbidden []string
	for _, kind := range s.kinds {
		visited := false
		complete, _, err := s.live.from.list(ctx, kind.gvk.GroupKind(), s.namespace, s.selector, func(o *unstructured.Unstructured) error {
			visited = true
			return s.visit(ctx, o, kind.String(), visit)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.gap("%s: incomplete list: %v", kind, err)
			first = cmp.Or(first, err)
		case !complete:
			forbidden = append(forbidden, kind.String())
		default:
			s.whole[kind.gvk.GroupKind()] = s.selector.Empty()
		}
		if (complete || visited) && s.live.cluster != nil {
			s.Resources = append(s.Resources, kind.String())
		}
	}
	if len(forbidden) > 0 {
		err := fmt.Errorf("cannot list %s; ask for permission to list them %s", strings.Join(forbidden, ", "), where(s.namespace))
		s.gap("%v", err)
		first = cmp.Or(first, err)
	}
	if len(s.Resources) == 0 && first != nil {
		return first
	}
	if err := s.eachReplicaSet(ctx, visit); err != nil {
		return err
	}
	return s.settle(ctx)
}

// visit calls visit with the subject of an object, and marks it as a present target. Of is the name of its resource or kind.
func (s *Survey) visit(ctx context.Context, o *unstructured.Unstructured, of string, visit Visit) error {
	subject, err := s.live.newSubject(o)
	if err != nil {
		return err
	}
	gap, err := s.live.setScale(ctx, &subject)
	if err != nil {
		return err
	}
	if gap != "" {
		s.gap("%s: %s", of, gap)
	}
	for _, a := range s.scalers.of[targetOf(subject)] {
		if a.Presence == NotKnown {
			a.Presence = Present
		}
	}
	if subject.Context.Scale != nil {
		subject.scaledBy(s.scalers)
	}
	if _, known := s.Namespaces[subject.Namespace]; s.live.cluster == nil && !known && subject.Namespace != "" {
		s.Namespaces[subject.Namespace] = ""
	}
	return visit(subject)
}

// eachReplicaSet visits the ReplicaSets that autoscalers target, if the survey has neither types nor labels.
func (s *Survey) eachReplicaSet(ctx context.Context, visit Visit) error {
	const resource = "replicasets.apps"
	for _, a := range s.Autoscalers {
		if a.Presence != NotKnown || a.Reference.Target != replicaSet() || len(s.types) > 0 || !s.selector.Empty() {
			continue
		}
		o, err := s.live.from.get(ctx, Identity{replicaSet().WithVersion("v1"), a.Namespace, a.Reference.TargetName}, "")
		switch {
		case apierrors.IsForbidden(err), err == nil && o == nil:
			continue
		case err != nil:
			return err
		}
		if !slices.Contains(s.Resources, resource) {
			s.Resources = append(s.Resources, resource)
		}
		if err := s.visit(ctx, o, resource, visit); err != nil {
			return err
		}
	}
	return nil
}

// settle determines whether the targets exist that have not been visited.
func (s *Survey) settle(ctx context.Context) error {
	open := map[schema.GroupKind][]*Autoscaler{}
	for _, a := range s.Autoscalers {
		if a.Presence == NotKnown && a.Chosen {
			open[a.Reference.Target] = append(open[a.Reference.Target], a)
		}
	}
	online := s.live.cluster != nil
	for kind, scalers := range open {
		exists, complete, why, err := map[target]bool{}, true, "", error(nil)
		if !online || !s.whole[kind] { // the autoscalers were listed before their targets
			complete, why, err = s.live.from.list(ctx, kind, s.namespace, labels.Everything(), func(o *unstructured.Unstructured) error {
				exists[target{namespace: o.GetNamespace(), name: o.GetName()}], exists[target{namespace: o.GetNamespace()}] = true, true
				return nil
			})
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", kind, err)
		case online && !complete:
			s.gap("unknown whether the targets of %d autoscalers exist%s", len(scalers), why)
		default:
			s.settleKind(scalers, exists)
		}
	}
	return nil
}

// settleKind sets the presence of targets of a kind. In files, which need not contain all objects, a target is also missing or present
// if the autoscaler's status says so, and missing if there are others of its kind in its namespace.
func (s *Survey) settleKind(open []*Autoscaler, exists map[target]bool) {
	online, unknown := s.live.cluster != nil, []string(nil)
	for _, a := range open {
		switch {
		case exists[target{namespace: a.Namespace, name: a.Reference.TargetName}], !online && a.found:
			a.Presence = Present
		case online, a.Since != "", exists[target{namespace: a.Namespace}]:
			a.Presence = Missing
		default:
			unknown = append(unknown, a.TargetText())
		}
	}
	if len(unknown) > 0 {
		s.gap("unknown whether the targets %s of autoscalers exist; add them to the files", printable.Some(unknown))
	}
}

// Rivals returns the scalers that scale a subject against each other, none if fewer than two do.
func (s *Survey) Rivals(subject Subject) (rivals []*Autoscaler) {
	at := targetOf(subject)
	for _, name := range scale.Rivals(s.scalers.references(at)) {
		for _, a := range s.scalers.of[at] {
			if a.Reference.Scaler == name {
				rivals = append(rivals, a)
			}
		}
	}
	return rivals
}
