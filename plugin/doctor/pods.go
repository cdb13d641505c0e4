package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manyRestarts is the number of restarts of a container from which they are a problem.
const manyRestarts = 3

// checkPods checks the Deployment and its pods.
func (d *diagnosis) checkPods(ctx context.Context, c *Check) {
	if d.install.service == nil {
		c.skip("the API server calls a URL, or there is no configuration")
		return
	}
	d.findDeployment(ctx, c)
	if d.install.deployment == nil {
		return
	}
	deployment := d.install.deployment
	object := named("deployment.apps", deployment.Name, deployment.Namespace)
	d.checkDeployment(c, object)
	var err error
	d.install.pods, err = list[corev1.Pod](ctx, d.objects, corev1.SchemeGroupVersion.WithResource("pods"), deployment.Namespace,
		metav1.ListOptions{LabelSelector: d.selector()})
	if err != nil {
		c.unread("list pods -n "+deployment.Namespace, err)
		return
	}
	ready := 0
	for i := range d.install.pods {
		pod := &d.install.pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if isReady(pod) {
			ready++
		} else {
			d.reportUnready(c, pod)
		}
		reportRestarts(c, pod)
	}
	c.Detail = fmt.Sprintf("%s, %d of %d pods ready", object, ready, desired(deployment))
	if ready == 0 && len(d.install.pods) == 0 && desired(deployment) > 0 {
		c.found(object, "has no pods", "kubectl -n "+deployment.Namespace+" describe replicaset -l "+d.selector())
	}
}

func desired(of *appsv1.Deployment) int32 {
	if of.Spec.Replicas == nil {
		return 1
	}
	return *of.Spec.Replicas
}

func (d *diagnosis) checkDeployment(c *Check, object string) {
	deployment := d.install.deployment
	if desired(deployment) == 0 {
		c.found(object, "is scaled to 0: applies behave as without handoff",
			"kubectl -n "+deployment.Namespace+" scale deployment "+deployment.Name+" --replicas=2")
	}
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			c.found(object, "its pods cannot be created: "+condition.Message,
				"kubectl -n "+deployment.Namespace+" describe replicaset -l "+d.selector())
		}
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// reportUnready reports why a pod is not ready, as far as its status shows.
func (d *diagnosis) reportUnready(c *Check, pod *corev1.Pod) {
	var reasons []string
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil {
			reasons = append(reasons, strings.TrimSpace(waiting.Reason+" "+waiting.Message))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status != corev1.ConditionTrue && condition.Message != "" && condition.Type != corev1.ContainersReady {
			reasons = append(reasons, condition.Message)
		}
	}
	problem := "is not ready"
	if len(reasons) > 0 {
		problem += ": " + strings.Join(reasons, "; ")
	}
	c.found(named("pod", pod.Name, pod.Namespace), problem,
		"kubectl -n "+pod.Namespace+" describe pod "+pod.Name, "kubectl -n "+pod.Namespace+" logs "+pod.Name+" --tail=20")
}

func reportRestarts(c *Check, pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.RestartCount < manyRestarts {
			continue
		}
		problem := fmt.Sprintf("container %s has restarted %d times", status.Name, status.RestartCount)
		remedy := "kubectl -n " + pod.Namespace + " logs " + pod.Name + " --previous --tail=20"
		if last := status.LastTerminationState.Terminated; last != nil {
			problem += fmt.Sprintf(", last: %s, exit code %d", last.Reason, last.ExitCode)
			if last.Reason == "OOMKilled" {
				remedy = "raise the memory limit of the Deployment: docs/operations.md, sizing"
			}
		}
		c.found(named("pod", pod.Name, pod.Namespace), problem, remedy)
	}
}
