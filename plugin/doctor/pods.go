package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

const (
	// manyRestarts is the number of restarts of a container from which they are a problem.
	manyRestarts = 3
	// longAgo is the time after which a restart is none anymore: the count is that of the pod's whole life.
	longAgo = 24 * time.Hour
)

// checkPods checks the Deployment and its pods.
func (d *diagnosis) checkPods(ctx context.Context, c *Check) {
	deployment, err := d.in.Deployment(ctx)
	switch {
	case err != nil:
		c.unread("list deployments.apps -n "+d.namespace(), err)
		return
	case deployment == nil:
		c.found("deployment.apps/handoff-webhook -n "+d.namespace(), "not found: no Deployment has pods with the labels "+d.podLabels(),
			d.reinstall()...)
		return
	}
	d.deployment = deployment
	object := d.workload()
	d.checkDeployment(c, object)
	d.pods, err = installation.List[corev1.Pod](ctx, d.objects, corev1.SchemeGroupVersion.WithResource("pods"), deployment.Namespace,
		metav1.ListOptions{LabelSelector: d.podLabels()})
	if err != nil {
		c.unread("list pods -n "+deployment.Namespace, err)
		return
	}
	ready := 0
	for i := range d.pods {
		pod := &d.pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if isReady(pod) {
			ready++
		} else {
			d.reportUnready(c, pod)
		}
		d.reportRestarts(c, pod)
	}
	c.Detail = fmt.Sprintf("%s, %d of %d pods ready", object, ready, desired(deployment))
	if ready == 0 && len(d.pods) == 0 && desired(deployment) > 0 {
		c.found(object, "has no pods", "kubectl -n "+deployment.Namespace+" describe replicaset -l "+d.podLabels())
	}
}

func desired(of *appsv1.Deployment) int32 {
	if of.Spec.Replicas == nil {
		return 1
	}
	return *of.Spec.Replicas
}

func (d *diagnosis) checkDeployment(c *Check, object string) {
	deployment := d.deployment
	if desired(deployment) == 0 {
		c.found(object, "is scaled to 0: applies behave as without handoff",
			"kubectl -n "+deployment.Namespace+" scale deployment "+deployment.Name+" --replicas=2")
	}
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			c.found(object, "its pods cannot be created: "+condition.Message,
				"kubectl -n "+deployment.Namespace+" describe replicaset -l "+d.podLabels())
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

func (d *diagnosis) reportRestarts(c *Check, pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		last := status.LastTerminationState.Terminated
		past := last != nil && !last.FinishedAt.IsZero() && last.FinishedAt.Add(longAgo).Before(d.options.Now)
		if status.RestartCount < manyRestarts || past {
			continue
		}
		problem := fmt.Sprintf("container %s has restarted %d times", status.Name, status.RestartCount)
		remedy := "kubectl -n " + pod.Namespace + " logs " + pod.Name + " --previous --tail=20"
		if last != nil {
			problem += fmt.Sprintf(", last: %s, exit code %d", last.Reason, last.ExitCode)
			if last.Reason == "OOMKilled" {
				remedy = "raise the memory limit of the Deployment: docs/operations.md, sizing"
			}
		}
		c.found(named("pod", pod.Name, pod.Namespace), problem, remedy)
	}
}
