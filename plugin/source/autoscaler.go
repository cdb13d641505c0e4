package source

import (
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// Autoscaler is a HorizontalPodAutoscaler, as far as a survey asks about it.
type Autoscaler struct {
	Namespace, Name string
	// Target and TargetName say what it targets.
	Target     schema.GroupKind
	TargetName string
	// Min and Max are its bounds.
	Min, Max int32
	// Presence says whether what it targets is there, Since since when it is known that it is not.
	Presence Presence
	Since    string
	// Ambiguous is since when its controller has not scaled by metrics, for others scale the same; empty where it does.
	Ambiguous string
	// Chosen says that the query asks for what is wrong with it.
	Chosen bool

	apiVersion string
	scaled     *metav1.Time // when it last did
	// able says that its controller has found what it targets.
	able bool
}

// Presence is whether something is there that an autoscaler can scale.
type Presence int

// What an autoscaler targets can be one of these.
const (
	// NotKnown: it may not be looked for.
	NotKnown Presence = iota
	// Present: it is there.
	Present
	// Missing: there is no object of that name.
	Missing
	// NotScalable: there is no such kind, or it has no scale subresource.
	NotScalable
)

// String names the autoscaler as kubectl does.
func (a Autoscaler) String() string {
	return nameOf(schema.GroupVersionKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}, a.Name)
}

// TargetText names what it targets as kubectl does.
func (a Autoscaler) TargetText() string {
	return nameOf(schema.GroupVersionKind{Group: a.Target.Group, Kind: a.Target.Kind}, a.TargetName)
}

func autoscalerOf(hpa *autoscalingv2.HorizontalPodAutoscaler) Autoscaler {
	a := Autoscaler{
		Namespace: hpa.Namespace, Name: hpa.Name, Min: 1, Max: hpa.Spec.MaxReplicas, apiVersion: hpa.Spec.ScaleTargetRef.APIVersion,
		scaled: hpa.Status.LastScaleTime,
	}
	a.Target, a.TargetName, _ = scale.Target(hpa)
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
	return a
}

// reduced is the autoscaler as package cluster reads it.
func (a Autoscaler) reduced() (hpa autoscalingv2.HorizontalPodAutoscaler) {
	hpa.Namespace, hpa.Name = a.Namespace, a.Name
	hpa.Status.LastScaleTime = a.scaled
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
		APIVersion: a.apiVersion, Kind: a.Target.Kind, Name: a.TargetName,
	}
	return hpa
}

func unquoted(text []byte) string {
	name, _ := rawjson.Unquote(text)
	return strings.TrimSpace(name)
}
