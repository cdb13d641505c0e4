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

	"github.com/ownership-handoff/handoff/ownership"
)

// Survey reads objects that may be too many to hold: page by page, and holds none of them. What is known about all of
// them, it has read at the beginning.
type Survey struct {
	// Autoscalers are the HorizontalPodAutoscalers, in no order that means anything. Whether what they target is there is
	// known after Each.
	Autoscalers []Autoscaler
	// Namespaces are the modes of those that are looked into, by name.
	Namespaces map[string]ownership.Mode

	who     who
	targets map[target][]int // positions in Autoscalers
	gaps    []string
	each    func(ctx context.Context, visit func(Page) error) error
}

// Page is a part of the objects of one resource.
type Page struct {
	// Resource is named as kubectl does: deployments.apps. It is empty for the objects of files.
	Resource string
	Subjects []Subject
	// Left is how many more the API server has, -1 where it does not say.
	Left int64
}

type target struct {
	namespace string
	kind      schema.GroupKind
	name      string
}

// Survey begins to read what a query chooses. Its Objects are types; where there are none, it chooses all that has a scale.
// Of ReplicaSets it then chooses those that an autoscaler targets: all others have a Deployment, or had one.
func (r Reader) Survey(ctx context.Context, q Query) (*Survey, error) {
	w, err := whoOf(r.Configuration)
	if err != nil {
		return nil, err
	}
	s := &Survey{who: w, targets: map[target][]int{}, Namespaces: map[string]ownership.Mode{}}
	if len(q.Files.Filenames) > 0 || q.Files.Kustomize != "" {
		return s, r.surveyFiles(s, q)
	}
	return s, r.surveyCluster(ctx, s, q)
}

// Each reads the objects and calls visit for each page of them. A page, and what it holds, is not to be kept. What cannot be
// read while other things can is no error, but a gap.
func (s *Survey) Each(ctx context.Context, visit func(Page) error) error { return s.each(ctx, visit) }

// Gaps say what else should have been read and could not be. They are complete after Each.
func (s *Survey) Gaps() []string { return s.gaps }

func (s *Survey) gap(format string, args ...any) {
	s.gaps = append(s.gaps, fmt.Sprintf(format, args...))
}

// On returns the autoscalers that target a subject, by name.
func (s *Survey) On(subject Subject) []Autoscaler {
	positions := s.targets[targetOf(subject)]
	on := make([]Autoscaler, len(positions))
	for n, i := range positions {
		on[n] = s.Autoscalers[i]
	}
	slices.SortFunc(on, func(a, b Autoscaler) int { return strings.Compare(a.Name, b.Name) })
	return on
}

func targetOf(s Subject) target { return target{s.Namespace, s.Kind.GroupKind(), s.Name} }

// add notes an autoscaler.
func (s *Survey) add(hpa *autoscalingv2.HorizontalPodAutoscaler, chosen bool) {
	a := autoscalerOf(hpa)
	a.Chosen = chosen
	at := target{a.Namespace, a.Target, a.TargetName}
	s.targets[at] = append(s.targets[at], len(s.Autoscalers))
	s.Autoscalers = append(s.Autoscalers, a)
}

// addNamespace notes the mode of a namespace.
func (s *Survey) addNamespace(o ownership.Object) {
	name := stringAt(o, "metadata", "name")
	mode, annotated := o.Mode()
	s.Namespaces[name] = modeIn(strings.Clone(mode), annotated)
}

// complete tells a subject what is known about it beyond itself, and notes that a target is there.
func (s *Survey) complete(subject *Subject, scale fieldpath.Path) {
	subject.Context.Scale = scale
	on := s.targets[targetOf(*subject)]
	if len(on) == 0 {
		return
	}
	var hpas []autoscalingv2.HorizontalPodAutoscaler
	for _, i := range on {
		if a := &s.Autoscalers[i]; a.Presence == NotKnown {
			a.Presence = Present
		}
		hpas = append(hpas, s.Autoscalers[i].reduced())
	}
	if scale != nil {
		subject.targetedBy(hpas)
	}
}

func selectorOf(q Query) (labels.Selector, error) {
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w; write it as kubectl get takes it, such as app=web", q.Selector, err)
	}
	return selector, nil
}

// stringAt reads a string of an object, a copy.
func stringAt(o ownership.Object, names ...any) string {
	return strings.Clone(unquoted(o.Value(fieldpath.MakePathOrDie(names...))))
}
