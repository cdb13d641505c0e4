package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// checkPods checks that the Deployment has the pods that it should have, and that they run.
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
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
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
		d.checkRestarts(pod)
		if d.checkReady(pod) {
			ready++
		}
	}
	d.check.Detail = fmt.Sprintf("%s, %d of %d pods ready", workload, ready, desired)
}

// manyRestarts is the number of restarts of a container from which they are a problem, unless the last one was long ago: the count
// is that of the pod's whole life.
const (
	manyRestarts = 3
	longAgo      = 24 * time.Hour
)

func (d *diagnosis) checkRestarts(pod corev1.Pod) {
	for _, status := range pod.Status.ContainerStatuses {
		last := status.LastTerminationState.Terminated
		if last == nil {
			last = &corev1.ContainerStateTerminated{Reason: "unknown"}
		}
		isPast := !last.FinishedAt.IsZero() && last.FinishedAt.Add(longAgo).Before(d.options.Now)
		if status.RestartCount < manyRestarts || isPast {
			continue
		}
		problem := fmt.Sprintf("container %s has restarted %d times, last: %s, exit code %d",
			status.Name, status.RestartCount, last.Reason, last.ExitCode)
		d.check.found(d.named("pod", pod.Name), problem, d.kubectl("logs "+pod.Name+" --previous --tail=20"),
			"after OOMKilled, raise the memory limit of the Deployment: docs/operations.md, sizing")
	}
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
