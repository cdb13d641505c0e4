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

// manifest returns the manifest of a Deployment. With last-applied and managedFields, the object has about 3 KB as JSON.
func manifest(namespace, name string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(`{"apiVersion":"apps/v1",
"kind":"Deployment","metadata":{"name":"NAME","namespace":"NAMESPACE","labels":{"app.kubernetes.io/name":"NAME"}},
"spec":{"replicas":3,"selector":{"matchLabels":{"app.kubernetes.io/name":"NAME"}},
"template":{"metadata":{"labels":{"app.kubernetes.io/name":"NAME"}},
"spec":{"containers":[{"name":"app","image":"registry.invalid/shop/web:1.2.3","ports":[{"containerPort":8080}],
"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}`)
}

// create creates the i-th Deployment, with an autoscaler that has scaled it, or else scaled by a person.
func (s *Space) create(ctx context.Context, i int) error {
	name := deploymentName(i)
	if err := Apply(ctx, s.api, s.Name, name); err != nil {
		return err
	}
	if s.Unscaled {
		return scale(ctx, s.api, s.Name, name, "kubectl")
	}
	return Autoscale(ctx, s.api, s.Name, name)
}

// Apply creates a Deployment of about 3 KB with three replicas as kubectl apply does.
func Apply(ctx context.Context, api client.Client, namespace, name string) error {
	text := manifest(namespace, name)
	d := &appsv1.Deployment{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return fmt.Errorf("decoding the manifest: %w", err)
	}
	d.Annotations = map[string]string{ownership.LastAppliedAnnotation: strings.ReplaceAll(text, "\n", "")}
	if err := api.Create(ctx, d, client.FieldOwner(applier)); err != nil {
		return fmt.Errorf("creating Deployment %s: %w", name, err)
	}
	return nil
}

// Autoscale creates a HorizontalPodAutoscaler of a Deployment with the same name, and scales the Deployment as the controller
// does.
func Autoscale(ctx context.Context, api client.Client, namespace, name string) error {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas:    20,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
		},
	}
	if err := api.Create(ctx, hpa); err != nil {
		return fmt.Errorf("creating HorizontalPodAutoscaler %s: %w", name, err)
	}
	return scale(ctx, api, namespace, name, "kube-controller-manager")
}

// scale scales a Deployment through /scale.
func scale(ctx context.Context, api client.Client, namespace, name, manager string) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, scaledReplicas))
	options := &client.SubResourcePatchOptions{}
	options.FieldManager = manager
	if err := api.SubResource("scale").Patch(ctx, d, patch, options); err != nil {
		return fmt.Errorf("scaling Deployment %s: %w", name, err)
	}
	return nil
}

func sizeOf(d *appsv1.Deployment) (int, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("encoding a Deployment: %w", err)
	}
	return len(text), nil
}
