package guard

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
)

const (
	workload         = "web"
	manifestReplicas = 3
	scaledReplicas   = 7
)

// space is a namespace with a scaled Deployment and a number of autoscalers.
type space struct {
	name        string
	autoscalers int
	guarded     bool
	api         client.Client
	times       []time.Duration
}

// create creates the namespace and its objects.
func (s *space) create(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	namespace.Annotations = map[string]string{ownership.ModeAnnotation: string(ownership.ModeEnforce)}
	if !s.guarded {
		namespace.Labels = map[string]string{"ownership-handoff.io/system": "true"}
	}
	if err := s.api.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	if err := s.api.Create(ctx, s.deployment(), client.FieldOwner("kubectl-client-side-apply")); err != nil {
		return fmt.Errorf("creating the Deployment: %w", err)
	}
	for i := range s.autoscalers {
		name := workload
		if i > 0 {
			name = fmt.Sprintf("other-%d", i)
		}
		if err := s.api.Create(ctx, s.autoscaler(name)); err != nil {
			return fmt.Errorf("creating HorizontalPodAutoscaler %s: %w", name, err)
		}
	}
	return s.scale(ctx)
}

// scale scales the Deployment as the HorizontalPodAutoscaler controller does.
func (s *space) scale(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, scaledReplicas))
	options := &client.SubResourcePatchOptions{}
	options.FieldManager = "kube-controller-manager"
	if err := s.api.SubResource("scale").Patch(ctx, s.deployment(), patch, options); err != nil {
		return fmt.Errorf("scaling the Deployment: %w", err)
	}
	return nil
}

func (s *space) deployment() *appsv1.Deployment {
	replicas, labels := int32(manifestReplicas), map[string]string{"app": workload}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: workload},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			},
		},
	}
}

func (s *space) autoscaler(target string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: target},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 20,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: target,
			},
		},
	}
}
