package source

import (
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
)

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
		Target: r.Target, TargetName: r.TargetName,
	}
	if problem != nil {
		a.Presence, a.Problem = NotReferenced, strings.TrimPrefix(problem.Error(), a.Path+": ")
	}
	return a
}
