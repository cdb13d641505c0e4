package source

import (
	"context"

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
	// references are those of all scalers with a valid reference.
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
	add := func(o *unstructured.Unstructured, a Autoscaler, r scale.Reference, isReference bool) {
		note(&a, o.GetLabels())
		at := target{a.Namespace, a.Target, a.TargetName}
		l.targets[at] = append(l.targets[at], len(l.all))
		l.all = append(l.all, a)
		if isReference {
			l.references[at] = append(l.references[at], r)
		}
	}
	err := l.list(ctx, from, scale.Kind{GroupKind: hpaKind()}, namespace, func(o *unstructured.Unstructured) error {
		hpa, err := convert[autoscalingv2.HorizontalPodAutoscaler](o) // the versions agree in the fields that are read
		if err == nil && hpa.DeletionTimestamp == nil {
			r, ok := scale.OfHPA(hpa)
			add(o, autoscalerOf(hpa, r), r, ok)
		}
		return err
	})
	for rank, kind := range kinds {
		if err != nil {
			return err
		}
		err = l.list(ctx, from, kind, namespace, func(o *unstructured.Unstructured) error {
			// Only a survey reports a mistake in a scaler; the webhook reports it on the scaler.
			if r, ok, problem := kind.ReferenceOf(o.Object, o.GetName(), rank); ok || problem != nil {
				add(o, scalerOf(kind, o, r, problem), r, problem == nil)
			}
			return nil
		})
	}
	return err
}

// list lists the scalers of a kind, and records whether they could be read.
func (l *scalers) list(
	ctx context.Context, from origin, kind scale.Kind, namespace string, visit func(*unstructured.Unstructured) error,
) error {
	read, err := from.list(ctx, kind.GroupKind, namespace, visit)
	if read.remedy != "" {
		l.unread = append(l.unread, unreadKind{kind.GroupKind.Kind, kind.GroupKind.Group, read})
	}
	if read.complete && err == nil {
		l.readable = append(l.readable, kind.Managers...)
	}
	return err
}

// scaledBy sets the scaler of a subject, by the webhook's rules.
func (s *Subject) scaledBy(l *scalers) {
	entries, _ := s.Object.Entries() // the caller that reads the fields reports the error
	at := targetOf(*s)
	first, _ := scale.Choose(l.references[at])
	s.Scaler = ownership.Scaler{
		Name: first.Scaler, Desired: first.Desired, OffAtZero: first.OffAtZero, Readable: l.readable,
	}
	s.Context.Autoscaler = s.Scaler.Owner(s.Context.Scale, s.Object, entries, s.Context.Managers)
	s.Context.Managers.Readable = l.readable
	if s.Scaler.Name == "" {
		s.Context.Autoscaler = ownership.NodeGroupScaler(s.Kind.GroupKind(), s.Object)
	}
	for _, i := range l.targets[at] {
		hpa := l.all[i]
		isFirst := hpa.Kind.Kind+"/"+hpa.Name == first.Scaler
		if hpa.controller != nil {
			isFirst = isFirst || hpa.controller.Kind+"/"+hpa.controller.Name == first.Scaler
		}
		if hpa.scaled != "" && isFirst {
			s.Scaled = hpa.scaled
		}
	}
}
