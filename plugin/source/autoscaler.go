package source

import (
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/jsontree"
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

	apiVersion string
	scaled     *metav1.Time // last scale time
	conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	// able reports whether its controller has found the target.
	able bool
	// controllers are its controlling owner.
	controllers []metav1.OwnerReference
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
	if len(a.controllers) == 0 {
		return ""
	}
	kind := schema.FromAPIVersionAndKind(a.controllers[0].APIVersion, a.controllers[0].Kind)
	return nameOf(kind, a.controllers[0].Name)
}

func (a Autoscaler) isHPA() bool { return a.Kind.GroupKind() == hpaKind() }

// TargetText returns the name of the target as kubectl prints it.
func (a Autoscaler) TargetText() string {
	return nameOf(schema.GroupVersionKind{Group: a.Target.Group, Kind: a.Target.Kind}, a.TargetName)
}

// autoscalerOf returns a HorizontalPodAutoscaler; ok is false if it is being deleted.
func autoscalerOf(hpa *autoscalingv2.HorizontalPodAutoscaler) (a Autoscaler, ok bool) {
	a = Autoscaler{
		Kind: hpaKind().WithVersion("v2"), Namespace: hpa.Namespace, Name: hpa.Name, Path: ".spec.scaleTargetRef",
		Min: 1, Max: hpa.Spec.MaxReplicas, apiVersion: hpa.Spec.ScaleTargetRef.APIVersion,
		scaled: hpa.Status.LastScaleTime, conditions: scale.ConditionsForCache(hpa),
	}
	a.Target, a.TargetName, _ = scale.Target(hpa)
	if controller := metav1.GetControllerOf(hpa); controller != nil {
		a.controllers = []metav1.OwnerReference{*controller}
	}
	if hpa.Spec.MinReplicas != nil {
		a.Min = *hpa.Spec.MinReplicas
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
	return a, hpa.DeletionTimestamp == nil
}

// scalerOf returns a scaler of another kind; ok is false if it needs no target, or is being deleted.
func scalerOf(kind scale.Kind, o *unstructured.Unstructured) (a Autoscaler, ok bool) {
	a = Autoscaler{Kind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Path: kind.PathText()}
	r, ok, err := kind.ReferenceOf(o.Object, a.Name, 0)
	a.Target, a.TargetName = r.Target, r.TargetName
	if err != nil {
		a.Presence, a.Problem = NotReferenced, strings.TrimPrefix(err.Error(), a.Path+": ")
	}
	return a, ok || err != nil
}

// reduced returns a HorizontalPodAutoscaler with only the parts that package scale reads.
func (a Autoscaler) reduced() (hpa autoscalingv2.HorizontalPodAutoscaler) {
	hpa.Namespace, hpa.Name, hpa.OwnerReferences = a.Namespace, a.Name, a.controllers
	hpa.Status.LastScaleTime, hpa.Status.Conditions = a.scaled, a.conditions
	hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = &a.Min, a.Max
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
		APIVersion: a.apiVersion, Kind: a.Target.Kind, Name: a.TargetName,
	}
	return hpa
}

func unquoted(text []byte) string {
	name, _ := jsontree.Unquote(text)
	return strings.TrimSpace(name)
}
