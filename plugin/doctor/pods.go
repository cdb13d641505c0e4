package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// checkPods checks that the Deployment has the pods that it should have, and that they are ready.
func (d *diagnosis) checkPods(ctx context.Context) {
	switch _, err := d.in.Deployment(ctx); {
	case err != nil:
		d.check.gap("%v", err)
		return
	case d.deployment == nil:
		d.check.found("deployment.apps -n "+d.namespace, "not found: none has the pods of the Service", reinstall)
		return
	}
	workload, desired := d.named("deployment.apps", d.deployment.Name), int(*d.deployment.Spec.Replicas) // the API server sets it
	if desired == 0 {
		d.check.found(workload, "is scaled to 0: applies behave as without handoff",
			d.kubectl("scale deployment "+d.deployment.Name+" --replicas=2"))
	}
	pods, ok := list[corev1.Pod](ctx, d, d.namespace, d.selector)
	if !ok {
		return
	}
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { // those that its ReplicaSet does not count, such as evicted ones
		return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	})
	if len(pods) < desired {
		why := ""
		for _, condition := range d.deployment.Status.Conditions {
			if condition.Type == appsv1.DeploymentReplicaFailure {
				why = ": " + condition.Message
			}
		}
		d.check.found(workload, fmt.Sprintf("has %d of %d pods%s", len(pods), desired, why),
			d.kubectl("describe replicaset -l "+d.selector))
	}
	ready := 0
	for _, pod := range pods {
		if d.checkReady(pod) {
			ready++
		}
	}
	d.check.Detail = fmt.Sprintf("%s, %d of %d pods ready", workload, ready, desired)
}

// checkReady reports whether a pod is ready. If not, it finds why, as far as its status shows.
func (d *diagnosis) checkReady(pod corev1.Pod) bool {
	reasons := []string{"is not ready"}
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			reasons = append(reasons, strings.TrimSpace(waiting.Reason+" "+waiting.Message))
		}
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue:
			return true
		case condition.Status != corev1.ConditionTrue && condition.Message != "" && condition.Type != corev1.ContainersReady:
			reasons = append(reasons, condition.Message)
		}
	}
	d.check.found(d.named("pod", pod.Name), strings.Join(reasons, ": "),
		d.kubectl("describe pod "+pod.Name), d.kubectl("logs "+pod.Name+" --tail=20"))
	return false
}
