package share

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const nodeName = "node-1"

// kubelet simulates the scheduler and a kubelet: it writes to pods as they do, under their user names, but runs no containers.
type kubelet struct {
	scheduler, node client.Client
	cancel          context.CancelFunc
	done            chan error
	addresses       int
}

func (b *bench) startKubelet(ctx context.Context) (*kubelet, error) {
	// The pod garbage collector deletes pods whose node does not exist.
	if err := b.api.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}); err != nil {
		return nil, fmt.Errorf("creating a node: %w", err)
	}
	k := &kubelet{done: make(chan error, 1)}
	var err error
	if k.scheduler, err = b.as("system:kube-scheduler"); err != nil {
		return nil, err
	}
	// A real kubelet's permissions come from the node authorizer, which this API server does not enable.
	if k.node, err = b.as("system:node:"+nodeName, "system:nodes", "system:masters"); err != nil {
		return nil, err
	}
	ctx, k.cancel = context.WithCancel(ctx)
	go func() { k.done <- k.run(ctx) }()
	return k, nil
}

func (k *kubelet) stop() error {
	k.cancel()
	if err := <-k.done; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("simulating the kubelet: %w", err)
	}
	return nil
}

func (k *kubelet) run(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var pods corev1.PodList
		if err := k.node.List(ctx, &pods); err != nil {
			return fmt.Errorf("listing pods: %w", err)
		}
		for i := range pods.Items {
			// Retry at the next tick if another client has changed or deleted the pod in the meantime.
			err := k.step(ctx, &pods.Items[i])
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
}

// step performs the next write in a pod's life cycle.
func (k *kubelet) step(ctx context.Context, pod *corev1.Pod) error {
	ready := len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].Ready
	switch {
	case pod.DeletionTimestamp != nil && pod.Spec.NodeName == "":
		return nil // the API server deletes pods that are bound to no node
	case pod.DeletionTimestamp != nil && ready:
		return k.write(ctx, pod, terminated)
	case pod.DeletionTimestamp != nil:
		return k.node.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	case pod.Spec.NodeName == "":
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}}
		return k.scheduler.SubResource("binding").Create(ctx, pod, binding)
	case len(pod.Status.ContainerStatuses) == 0:
		return k.write(ctx, pod, creating)
	case !ready:
		return k.write(ctx, pod, k.running)
	default:
		return nil
	}
}

// write patches the pod's status as the kubelet does.
func (k *kubelet) write(ctx context.Context, pod *corev1.Pod, change func(*corev1.PodStatus)) error {
	before := client.StrategicMergeFrom(pod.DeepCopy())
	change(&pod.Status)
	return k.node.Status().Patch(ctx, pod, before)
}

func creating(status *corev1.PodStatus) {
	status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	}}
	setReady(status, corev1.ConditionFalse)
}

func (k *kubelet) running(status *corev1.PodStatus) {
	k.addresses++
	status.Phase = corev1.PodRunning
	status.PodIP = fmt.Sprintf("10.0.%d.%d", k.addresses/250, k.addresses%250+1)
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	setReady(status, corev1.ConditionTrue)
}

func terminated(status *corev1.PodStatus) {
	status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}},
	}}
	setReady(status, corev1.ConditionFalse)
}

func setReady(status *corev1.PodStatus, value corev1.ConditionStatus) {
	now := metav1.Now()
	status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.ContainersReady, Status: value, LastTransitionTime: now},
		{Type: corev1.PodReady, Status: value, LastTransitionTime: now},
	}
}
