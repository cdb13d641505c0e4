package scale_test

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestZeroSwitchesAHorizontalPodAutoscalerOffUnlessItHasScaledToZero(t *testing.T) {
	type conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	scaledToZero := func(status corev1.ConditionStatus) conditions {
		return conditions{
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"},
			{Type: autoscalingv2.ScaledToZero, Status: status},
		}
	}
	scaling := func(status corev1.ConditionStatus, reason string) conditions {
		return conditions{{Type: autoscalingv2.AbleToScale}, {Type: autoscalingv2.ScalingActive, Status: status, Reason: reason}}
	}
	for sentence, c := range map[string]struct {
		minimum    *int32
		conditions conditions
		want       bool
	}{
		"no minimum means 1": {nil, nil, true},
		"a minimum of 2":     {new(int32(2)), scaling(corev1.ConditionTrue, "ValidMetricFound"), true},
		"a minimum of 2 that was 0 when the autoscaler scaled to 0":     {new(int32(2)), scaledToZero(corev1.ConditionTrue), false},
		"a minimum of 2, and the last scaling was not to 0":             {new(int32(2)), scaledToZero(corev1.ConditionFalse), true},
		"a minimum of 0, and it has scaled to 0":                        {new(int32(0)), scaledToZero(corev1.ConditionTrue), false},
		"a minimum of 0, and the last scaling was not to 0":             {new(int32(0)), scaledToZero(corev1.ConditionFalse), true},
		"a minimum of 0, before it was read by its controller":          {new(int32(0)), nil, true},
		"a minimum of 0, found at 0 by its controller":                  {new(int32(0)), scaling(corev1.ConditionFalse, "ScalingDisabled"), true},
		"a minimum of 0 before Kubernetes 1.36, scaling":                {new(int32(0)), scaling(corev1.ConditionTrue, "ValidMetricFound"), false},
		"a minimum of 0 before Kubernetes 1.36, with metrics that fail": {new(int32(0)), scaling(corev1.ConditionFalse, "FailedGetExternalMetric"), false},
	} {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		hpa.Spec.MinReplicas, hpa.Status.Conditions = c.minimum, c.conditions
		if r, _, err := scale.OfHPA(hpa); err != nil || r.OffAtZero != c.want {
			t.Errorf("%s: want %v, got %+v", sentence, c.want, r)
		}
	}
}
