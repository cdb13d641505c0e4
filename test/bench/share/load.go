package share

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
)

// Mix describes the load, so that readers can judge the result.
const Mix = `The load consists of rounds, in each of which:
  - the real HPA controller scales each of 4 Deployments per namespace from 3 to 6 replicas or back; the write to the HPA
    that replaces changing metrics is not counted
  - a user rolls out one of the 4 Deployments with kubectl rollout restart or kubectl set image
  - in namespace "with-applies" only, kubectl apply writes all 4 manifests, which set replicas: 3
  - the real controllers do the rest, with a simulated scheduler and kubelet that binds each pod, writes its status twice
    while it starts and once while it terminates, and deletes it
Writes of Events, which are frequent in most clusters, and failed writes are not counted. A patch that conflicts with
another write is reviewed again, and counts as one write.
`

const (
	deployments = 4
	few, many   = 3, 6
	// loadUser is the user that changes the HPAs.
	loadUser = "load"
	patience = 3 * time.Minute
)

// setUp creates a namespace with handoff enabled, and waits until all its workloads are up.
func (b *bench) setUp(ctx context.Context, namespace string) error {
	annotations := map[string]string{ownership.ModeAnnotation: "enforce"}
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: annotations}}
	if err := b.api.Create(ctx, o); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	if err := b.kubectl(ctx, namespace, each(manifest)+each(dependents), "apply", "-f", "-"); err != nil {
		return err
	}
	return b.settled(ctx, namespace, few)
}

// play runs a round. Even rounds scale up, odd rounds scale down.
func (b *bench) play(ctx context.Context, round int) error {
	pods := many
	if round%2 == 1 {
		pods = few
	}
	for _, namespace := range []string{withoutApplies, withApplies} {
		if err := b.scale(ctx, namespace, pods); err != nil {
			return err
		}
	}
	for _, namespace := range []string{withoutApplies, withApplies} {
		if err := b.settled(ctx, namespace, pods); err != nil {
			return err
		}
		if err := b.rollOut(ctx, namespace, round); err != nil {
			return err
		}
		if err := b.settled(ctx, namespace, pods); err != nil {
			return err
		}
	}
	if err := b.kubectl(ctx, withApplies, each(manifest), "apply", "-f", "-"); err != nil {
		return err
	}
	return b.settled(ctx, withApplies, pods)
}

// scale makes the autoscalers scale by changing their minimum and maximum, because they have no metrics.
func (b *bench) scale(ctx context.Context, namespace string, pods int) error {
	api, err := b.as(loadUser, "system:masters")
	if err != nil {
		return err
	}
	var list autoscalingv2.HorizontalPodAutoscalerList
	if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing the autoscalers: %w", err)
	}
	for i := range list.Items {
		hpa := &list.Items[i]
		before := client.MergeFrom(hpa.DeepCopy())
		hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = new(int32(pods)), int32(pods)
		if err := api.Patch(ctx, hpa, before); err != nil {
			return fmt.Errorf("changing the bounds of HorizontalPodAutoscaler %s: %w", hpa.Name, err)
		}
	}
	return nil
}

// rollOut starts a rollout of one of the Deployments.
func (b *bench) rollOut(ctx context.Context, namespace string, round int) error {
	name := "deployment/" + deploymentName(round%deployments)
	if round%2 == 0 {
		return b.kubectl(ctx, namespace, "", "rollout", "restart", name)
	}
	return b.kubectl(ctx, namespace, "", "set", "image", name, fmt.Sprintf("app=registry.invalid/shop/web:%d", round+2))
}

// settled waits until all pods of all Deployments are ready and up to date.
func (b *bench) settled(ctx context.Context, namespace string, pods int) error {
	done := func(ctx context.Context) (bool, error) {
		var list appsv1.DeploymentList
		if err := b.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			if !up(&list.Items[i], int32(pods)) {
				return false, nil
			}
		}
		return len(list.Items) == deployments, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, done); err != nil {
		return fmt.Errorf("waiting until all Deployments of %s have %d pods: %w", namespace, pods, err)
	}
	return nil
}

func up(d *appsv1.Deployment, pods int32) bool {
	status := d.Status
	return *d.Spec.Replicas == pods && status.ObservedGeneration == d.Generation &&
		status.Replicas == pods && status.UpdatedReplicas == pods && status.ReadyReplicas == pods
}

// kubectl runs kubectl, and returns an error with its standard error if it fails.
func (b *bench) kubectl(ctx context.Context, namespace, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, b.controlPlane.Kubectl, append([]string{"--namespace", namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return nil
}

// as returns a client for another user.
func (b *bench) as(name string, groups ...string) (client.Client, error) {
	kubeconfig, err := b.controlPlane.AddUser(name, groups...)
	if err != nil {
		return nil, err
	}
	return clientOf(kubeconfig)
}
