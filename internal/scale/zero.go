package scale

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// scalingDisabled is the reason of the condition ScalingActive of an autoscaler that 0 replicas have switched off
// (pkg/controller/podautoscaler/horizontal.go in Kubernetes).
const scalingDisabled = "ScalingDisabled"

// offAtZero reports whether 0 replicas of its target switch an autoscaler off. With a minimum of 0 it can have set them
// itself, and its status shows it: Kubernetes 1.36 and later record in the condition ScaledToZero whether it has, and it then
// scales from 0 even if its minimum has been raised since (https://kep.k8s.io/2021). Without that condition, as in earlier
// versions, it scales from 0 unless the condition ScalingActive says that scaling is disabled. An autoscaler without
// conditions has set nothing yet.
func offAtZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	conditions := map[autoscalingv2.HorizontalPodAutoscalerConditionType]autoscalingv2.HorizontalPodAutoscalerCondition{}
	for _, condition := range slices.Backward(hpa.Status.Conditions) {
		conditions[condition.Type] = condition
	}
	if scaled, ok := conditions[autoscalingv2.ScaledToZero]; ok {
		return scaled.Status != corev1.ConditionTrue
	}
	if hpa.Spec.MinReplicas == nil || *hpa.Spec.MinReplicas > 0 {
		return true
	}
	active, ok := conditions[autoscalingv2.ScalingActive]
	return !ok || active.Reason == scalingDisabled
}
