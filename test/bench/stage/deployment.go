package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
)

// applier is the field manager of kubectl apply.
const applier = "kubectl-client-side-apply"

func deploymentName(i int) string { return fmt.Sprintf("web-%03d", i) }

// manifest returns the manifest of the i-th Deployment. With last-applied and managedFields, the object has about 3 KB as JSON.
func manifest(namespace string, i int) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", deploymentName(i)).Replace(`{"apiVersion":"apps/v1",
"kind":"Deployment","metadata":{"name":"NAME","namespace":"NAMESPACE","labels":{"app.kubernetes.io/name":"NAME"}},
"spec":{"replicas":3,"selector":{"matchLabels":{"app.kubernetes.io/name":"NAME"}},
"template":{"metadata":{"labels":{"app.kubernetes.io/name":"NAME"}},
"spec":{"containers":[{"name":"app","image":"registry.invalid/shop/web:1.2.3","ports":[{"containerPort":8080}],
"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}`)
}

// create creates the i-th Deployment as kubectl apply does, with an autoscaler that has scaled it, or else scaled by a person.
func (s *Space) create(ctx context.Context, i int) error {
	text := manifest(s.Name, i)
	d := &appsv1.Deployment{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return fmt.Errorf("decoding the manifest: %w", err)
	}
	d.Annotations = map[string]string{ownership.LastAppliedAnnotation: strings.ReplaceAll(text, "\n", "")}
	if err := s.api.Create(ctx, d, client.FieldOwner(applier)); err != nil {
		return fmt.Errorf("creating the Deployment: %w", err)
	}
	scaler := "kubectl"
	if !s.Unscaled {
		scaler = "kube-controller-manager"
		if err := s.api.Create(ctx, s.autoscaler(d.Name)); err != nil {
			return fmt.Errorf("creating the HorizontalPodAutoscaler: %w", err)
		}
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, scaledReplicas))
	options := &client.SubResourcePatchOptions{}
	options.FieldManager = scaler
	if err := s.api.SubResource("scale").Patch(ctx, d, patch, options); err != nil {
		return fmt.Errorf("scaling the Deployment: %w", err)
	}
	return nil
}

func (s *Space) autoscaler(name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas:    20,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
		},
	}
}

func sizeOf(d *appsv1.Deployment) (int, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("encoding a Deployment: %w", err)
	}
	return len(text), nil
}
