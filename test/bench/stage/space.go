package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/bench/peer"
)

// Space is a namespace with a Deployment of 3 replicas, which was scaled to peer.Replicas.
type Space struct {
	Name string
	// Variables is the number of environment variables, and determines the size of the Deployment: 3 KB without any.
	Variables int
	// Constant reports that the constant patch admits its writes, Handoff that handoff may, Guarded that the guard does.
	Constant, Handoff, Guarded bool
	// Mode is handoff's mode, "" without an annotation.
	Mode string
	// ByUser reports that a user has scaled the Deployment, instead of an autoscaler.
	ByUser bool
	// Want are the replicas that each write results in.
	Want int32

	api client.Client
}

const (
	// workload is the name of the Deployment and of its autoscaler.
	workload = "web"
	// applier is the field manager of kubectl apply.
	applier = "kubectl-client-side-apply"
	// Applied are the replicas of the manifest.
	Applied = 3
)

// Write sets the replicas of the Deployment as kubectl apply does, in a dry run: each write finds the same object, and none waits
// for a disk. The error reports another result than the expected one: the API server did not wait for the webhook.
func (s *Space) Write(ctx context.Context) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: workload}}
	patch := client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, Applied))
	if err := s.api.Patch(ctx, d, patch, client.DryRunAll, client.FieldOwner(applier)); err != nil {
		return fmt.Errorf("patching the Deployment: %w", err)
	}
	if got := *d.Spec.Replicas; got != s.Want {
		return fmt.Errorf("got %d replicas, which admission does not set, want %d", got, s.Want)
	}
	return nil
}

// Size returns the size of the stored Deployment as JSON.
func (s *Space) Size(ctx context.Context) (int, error) {
	d := &appsv1.Deployment{}
	if err := s.api.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: workload}, d); err != nil {
		return 0, fmt.Errorf("reading a Deployment: %w", err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("encoding a Deployment: %w", err)
	}
	return len(text), nil
}

// setUp creates the objects of a namespace.
func (s *Stage) setUp(ctx context.Context, space *Space) error {
	space.api = s.api
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space.Name, Labels: space.labels()}}
	if space.Mode != "" {
		namespace.Annotations = map[string]string{ownership.ModeAnnotation: space.Mode}
	}
	if err := s.api.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	if err := space.apply(ctx); err != nil {
		return err
	}
	if space.ByUser {
		return space.scale(ctx, "kubectl")
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: space.Name, Name: workload},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas:    20,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: workload},
		},
	}
	if err := s.api.Create(ctx, hpa); err != nil {
		return fmt.Errorf("creating the HorizontalPodAutoscaler: %w", err)
	}
	return space.scale(ctx, "kube-controller-manager")
}

// apply creates the Deployment as kubectl apply does.
func (s *Space) apply(ctx context.Context) error {
	text := s.manifest()
	d := &appsv1.Deployment{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return fmt.Errorf("decoding the manifest: %w", err)
	}
	d.Annotations = map[string]string{ownership.LastAppliedAnnotation: strings.ReplaceAll(text, "\n", "")}
	if err := s.api.Create(ctx, d, client.FieldOwner(applier)); err != nil {
		return fmt.Errorf("creating the Deployment: %w", err)
	}
	return nil
}

func (s *Space) manifest() string {
	variables := make([]string, s.Variables)
	for i := range variables {
		variables[i] = fmt.Sprintf(`{"name":"SETTING_%04d","value":"value %04d"}`, i, i)
	}
	return strings.NewReplacer("NAMESPACE", s.Name, "VARIABLES", strings.Join(variables, ",")).Replace(`{"apiVersion":"apps/v1",
"kind":"Deployment","metadata":{"name":"web","namespace":"NAMESPACE","labels":{"app.kubernetes.io/name":"web"}},
"spec":{"replicas":3,"selector":{"matchLabels":{"app.kubernetes.io/name":"web"}},
"template":{"metadata":{"labels":{"app.kubernetes.io/name":"web"}},
"spec":{"containers":[{"name":"app","image":"registry.invalid/shop/web:1.2.3","ports":[{"containerPort":8080}],
"env":[VARIABLES],"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}`)
}

// scale scales the Deployment through /scale.
func (s *Space) scale(ctx context.Context, manager string) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: workload}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, peer.Replicas))
	options := &client.SubResourcePatchOptions{}
	options.FieldManager = manager
	if err := s.api.SubResource("scale").Patch(ctx, d, patch, options); err != nil {
		return fmt.Errorf("scaling the Deployment: %w", err)
	}
	return nil
}
