package source

import (
	"context"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// target identifies an object that scalers reference.
type target struct {
	namespace string
	kind      schema.GroupKind
	name      string
}

func targetOf(s Subject) target { return target{s.Namespace, s.Kind.GroupKind(), s.Name} }

// scalers are the HorizontalPodAutoscalers and the other scalers of a namespace, or of all.
type scalers struct {
	all     []Autoscaler
	targets map[target][]int // positions in all
	// references are those of scalers other than HorizontalPodAutoscalers.
	references map[target][]scale.Reference
	// readable are the managers of the other kinds that could be read, or are not installed.
	readable []string
	// unread are the kinds that could not be read.
	unread []unreadKind
}

type unreadKind struct {
	name, group string
	read        access
}

func newScalers() *scalers {
	return &scalers{targets: map[target][]int{}, references: map[target][]scale.Reference{}}
}

// read adds the HorizontalPodAutoscalers and the scalers of the given kinds in a namespace, or in all. It calls note with each
// and its labels before it adds it.
func (l *scalers) read(
	ctx context.Context, from origin, kinds []scale.Kind, namespace string, note func(*Autoscaler, map[string]string),
) error {
	add := func(a Autoscaler, labels map[string]string) {
		note(&a, labels)
		at := target{a.Namespace, a.Target, a.TargetName}
		l.targets[at] = append(l.targets[at], len(l.all))
		l.all = append(l.all, a)
	}
	read, err := from.list(ctx, hpaKind(), namespace, func(o *unstructured.Unstructured) error {
		hpa, err := hpaOf(o)
		if a, ok := autoscalerOf(&hpa); ok && err == nil {
			add(a, hpa.Labels)
		}
		return err
	})
	l.report(hpaKind(), read)
	if err != nil {
		return err
	}
	for rank, kind := range kinds {
		read, err := from.list(ctx, kind.GroupKind, namespace, func(o *unstructured.Unstructured) error {
			// A mistake in a scaler is not reported here: the webhook reports it on the scaler.
			if r, ok, err := kind.ReferenceOf(o.Object, o.GetName(), rank); ok && err == nil {
				at := target{o.GetNamespace(), r.Target, r.TargetName}
				l.references[at] = append(l.references[at], r)
			}
			if a, ok := scalerOf(kind, o); ok {
				add(a, o.GetLabels())
			}
			return nil
		})
		if err != nil {
			return err
		}
		l.report(kind.GroupKind, read)
		if read.complete {
			l.readable = append(l.readable, kind.Managers...)
		}
	}
	return nil
}

func (l *scalers) report(kind schema.GroupKind, read access) {
	if read.remedy != "" {
		l.unread = append(l.unread, unreadKind{kind.Kind, kind.Group, read})
	}
}

// hpasOn returns the HorizontalPodAutoscalers that target an object, with only the parts that package scale reads.
func (l *scalers) hpasOn(at target) []autoscalingv2.HorizontalPodAutoscaler {
	hpas := make([]autoscalingv2.HorizontalPodAutoscaler, 0, len(l.targets[at]))
	for _, i := range l.targets[at] {
		if l.all[i].isHPA() {
			hpas = append(hpas, l.all[i].reduced())
		}
	}
	return hpas
}

// scaledBy sets the scaler of a subject, by the webhook's rules.
func (s *Subject) scaledBy(l *scalers) {
	entries, _ := s.Object.Entries() // the caller that reads the fields reports the error
	hpas := l.hpasOn(targetOf(*s))
	targeting := scale.Targeting(hpas, s.Kind.GroupKind(), s.Name)
	first, _ := scale.Choose(append(targeting, l.references[targetOf(*s)]...))
	s.Scaler = ownership.Scaler{
		Name: first.Scaler, Desired: first.Desired, OffAtZero: first.OffAtZero, Readable: l.readable,
	}
	s.Context.Autoscaler = s.Scaler.Owner(s.Context.Scale, s.Object, entries, s.Context.Managers)
	s.Context.Managers.Readable = l.readable
	if s.Scaler.Name == "" {
		s.Context.Autoscaler = ownership.NodeGroupScaler(s.Kind.GroupKind(), s.Object)
	}
	for i := range hpas {
		r, ok := scale.OfHPA(&hpas[i])
		ok = ok && slices.Contains(targeting, r) && (r.Scaler == first.Scaler || r.ControlledBy == first.Scaler)
		if at := hpas[i].Status.LastScaleTime; at != nil && ok {
			s.Scaled = at.UTC().Format(time.RFC3339)
		}
	}
}
