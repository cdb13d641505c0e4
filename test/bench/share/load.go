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

// Mix says what the load is, for people to judge.
const Mix = `The writes whose share is reviewed come in rounds:
  - each of 4 Deployments per namespace is scaled by the real HPA controller, from 3 to 6 or back; the write to the HPA
    that stands for changing metrics is not counted
  - a person rolls out one of the 4, by kubectl rollout restart or kubectl set image
  - in "applied" only: kubectl apply of all 4 manifests, which set replicas: 3
  - all that follows is done by the real controllers, and by a stand-in for scheduler and kubelet, which binds each pod,
    writes its status twice on its way up and once on its way down, and deletes it
Not counted, though most clusters have many: events, and what was refused. A patch that meets another write on its
way is reviewed once more, and counts as one write.
`

const (
	deployments = 4
	few, many   = 3, 6
	// loadUser changes the HPAs.
	loadUser = "load"
	patience = 3 * time.Minute
)

// setUp makes an opted-in namespace and waits until all in it is up.
func (b *bench) setUp(ctx context.Context, namespace string) error {
	annotations := map[string]string{ownership.ModeAnnotation: "enforce"}
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: annotations}}
	if err := b.api.Create(ctx, o); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	if err := b.kubectl(ctx, namespace, each(manifest)+each(around), "apply", "-f", "-"); err != nil {
		return err
	}
	return b.settled(ctx, namespace, few)
}

// play plays a round: up in the even ones, down in the odd.
func (b *bench) play(ctx context.Context, round int) error {
	pods := many
	if round%2 == 1 {
		pods = few
	}
	for _, namespace := range []string{quiet, applied} {
		if err := b.scale(ctx, namespace, pods); err != nil {
			return err
		}
	}
	for _, namespace := range []string{quiet, applied} {
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
	if err := b.kubectl(ctx, applied, each(manifest), "apply", "-f", "-"); err != nil {
		return err
	}
	return b.settled(ctx, applied, pods)
}

// scale lets the autoscalers scale. They have no metrics, but keep within their bounds.
func (b *bench) scale(ctx context.Context, namespace string, pods int) error {
	api, err := b.as(loadUser, "system:masters")
	if err != nil {
		return err
	}
	var list autoscalingv2.HorizontalPodAutoscalerList
	if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the autoscalers: %w", err)
	}
	for i := range list.Items {
		hpa := &list.Items[i]
		before := client.MergeFrom(hpa.DeepCopy())
		hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = new(int32(pods)), int32(pods)
		if err := api.Patch(ctx, hpa, before); err != nil {
			return fmt.Errorf("scale %s: %w", hpa.Name, err)
		}
	}
	return nil
}

// rollOut makes one of the Deployments roll.
func (b *bench) rollOut(ctx context.Context, namespace string, round int) error {
	name := "deployment/" + deploymentName(round%deployments)
	if round%2 == 0 {
		return b.kubectl(ctx, namespace, "", "rollout", "restart", name)
	}
	return b.kubectl(ctx, namespace, "", "set", "image", name, fmt.Sprintf("app=registry.invalid/shop/web:%d", round+2))
}

// settled waits until all pods of all Deployments are as they should be.
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
		return fmt.Errorf("wait until all Deployments of %s have %d pods: %w", namespace, pods, err)
	}
	return nil
}

func up(d *appsv1.Deployment, pods int32) bool {
	status := d.Status
	return *d.Spec.Replicas == pods && status.ObservedGeneration == d.Generation &&
		status.Replicas == pods && status.UpdatedReplicas == pods && status.ReadyReplicas == pods
}

// kubectl runs the real kubectl, which must succeed.
func (b *bench) kubectl(ctx context.Context, namespace, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, b.plane.Kubectl, append([]string{"--namespace", namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return nil
}

// as returns a client of another user.
func (b *bench) as(name string, groups ...string) (client.Client, error) {
	kubeconfig, err := b.plane.AddUser(name, groups...)
	if err != nil {
		return nil, err
	}
	return clientOf(kubeconfig)
}
