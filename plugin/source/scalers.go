package source

import (
	"context"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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

type unreadKind struct{ name, because, remedy string }

// readScalers reads the HorizontalPodAutoscalers and the scalers of the given kinds in a namespace, or in all.
func readScalers(ctx context.Context, from origin, kinds []scale.Kind, namespace string) (*scalers, error) {
	l := &scalers{targets: map[target][]int{}, references: map[target][]scale.Reference{}}
	err := l.list(ctx, from, scale.Kind{GroupKind: hpaKind()}, namespace, func(o *unstructured.Unstructured, _ int64) error {
		hpa, err := convert[autoscalingv2.HorizontalPodAutoscaler](o) // the versions agree in the fields that are read
		if err == nil && hpa.DeletionTimestamp == nil {
			r, ok := scale.OfHPA(hpa)
			l.add(autoscalerOf(hpa, r), r, ok)
		}
		return err
	})
	for rank, kind := range kinds {
		if err != nil {
			break
		}
		err = l.list(ctx, from, kind, namespace, func(o *unstructured.Unstructured, _ int64) error {
			// Only a survey reports a mistake in a scaler; the webhook reports it on the scaler.
			if r, ok, problem := kind.ReferenceOf(o.Object, o.GetName(), rank); ok || problem != nil {
				l.add(scalerOf(kind, o, r, problem), r, problem == nil)
			}
			return nil
		})
	}
	return l, err
}

func (l *scalers) add(a Autoscaler, r scale.Reference, isReference bool) {
	at := target{a.Namespace, a.Target, a.TargetName}
	l.targets[at] = append(l.targets[at], len(l.all))
	l.all = append(l.all, a)
	if isReference {
		l.references[at] = append(l.references[at], r)
	}
}

// list lists the scalers of a kind, and records whether they could be read.
func (l *scalers) list(ctx context.Context, from origin, kind scale.Kind, namespace string, visit visitObject) error {
	read, err := from.list(ctx, kind.GroupKind, namespace, labels.Everything(), visit)
	if read.remedy != "" {
		l.unread = append(l.unread, unreadKind{kind.GroupKind.Kind, read.because, read.remedy})
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

// Autoscaler contains the parts of a HorizontalPodAutoscaler or another scaler that a survey needs.
type Autoscaler struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Path is that of its reference. Problem is why it references nothing.
	Path, Problem string
	// Target and TargetName identify its target.
	Target     schema.GroupKind
	TargetName string
	// Min and Max are the bounds of a HorizontalPodAutoscaler.
	Min, Max int32
	// Presence is the state of the target. Since is the time since when the target is known to be missing.
	Presence Presence
	Since    string
	// Ambiguous is the time since when it does not scale by metrics because others scale the same pods; empty if it does.
	Ambiguous string
	// Chosen reports whether the query selects it.
	Chosen bool

	labels labels.Set
	scaled string // last scale time
	// able reports whether its controller has found the target.
	able bool
	// controller is its controlling owner, nil if there is none.
	controller *metav1.OwnerReference
}

// Presence is the state of an autoscaler's target.
type Presence int

// The states of a target.
const (
	// NotKnown means that the target has not been looked up, or cannot be.
	NotKnown Presence = iota
	// Present means that the target exists.
	Present
	// Missing means that there is no object of that name.
	Missing
	// NotScalable means that there is no such kind, or that it has no scale subresource.
	NotScalable
	// NotReferenced means that the autoscaler has no valid reference.
	NotReferenced
)

// String returns the name of the autoscaler as kubectl prints it.
func (a Autoscaler) String() string { return nameOf(a.Kind, a.Name) }

// Creator returns the name of the scaler that created a HorizontalPodAutoscaler and would create it again, in the form that
// kubectl prints; empty if there is none.
func (a Autoscaler) Creator() string {
	if a.controller == nil {
		return ""
	}
	return nameOf(schema.FromAPIVersionAndKind(a.controller.APIVersion, a.controller.Kind), a.controller.Name)
}

// TargetText returns the name of the target as kubectl prints it.
func (a Autoscaler) TargetText() string { return nameOf(a.Target.WithVersion(""), a.TargetName) }

// autoscalerOf returns a HorizontalPodAutoscaler.
func autoscalerOf(hpa *autoscalingv2.HorizontalPodAutoscaler, r scale.Reference) Autoscaler {
	a := Autoscaler{
		Kind: hpaKind().WithVersion("v2"), Namespace: hpa.Namespace, Name: hpa.Name, Path: ".spec.scaleTargetRef",
		Target: r.Target, TargetName: r.TargetName, Min: 1, Max: hpa.Spec.MaxReplicas, controller: metav1.GetControllerOf(hpa),
		labels: hpa.Labels,
	}
	if hpa.Spec.MinReplicas != nil {
		a.Min = *hpa.Spec.MinReplicas
	}
	if hpa.Status.LastScaleTime != nil {
		a.scaled = hpa.Status.LastScaleTime.UTC().Format(time.RFC3339)
	}
	for _, condition := range hpa.Status.Conditions {
		since := condition.LastTransitionTime.UTC().Format(time.RFC3339)
		failed := condition.Status == corev1.ConditionFalse
		switch {
		case condition.Type == autoscalingv2.ScalingActive && failed && condition.Reason == "AmbiguousSelector":
			a.Ambiguous = since
		case condition.Type == autoscalingv2.AbleToScale && failed && condition.Reason == "FailedGetScale":
			a.Since = since
		case condition.Type == autoscalingv2.AbleToScale:
			a.able = !failed
		}
	}
	return a
}

// scalerOf returns a scaler of another kind. The problem is that of its reference.
func scalerOf(kind scale.Kind, o *unstructured.Unstructured, r scale.Reference, problem error) Autoscaler {
	a := Autoscaler{
		Kind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Path: kind.PathText(),
		Target: r.Target, TargetName: r.TargetName, labels: o.GetLabels(),
	}
	if problem != nil {
		a.Presence, a.Problem = NotReferenced, strings.TrimPrefix(problem.Error(), a.Path+": ")
	}
	return a
}
