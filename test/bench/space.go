package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	// workload is the name of the Deployment and of its autoscaler.
	workload = "web"
	// applier is the field manager of kubectl apply.
	applier = "kubectl-client-side-apply"
	// applied are the replicas of the manifest, scaled those that an autoscaler or a user has set. The constant patch sets these too.
	applied, scaled = 3, 7
)

// space is a namespace with a Deployment that was scaled.
type space struct {
	name, title string
	// variables is the number of environment variables, and determines the size of the Deployment: 3 KB without any.
	variables int
	// constant reports that the constant patch admits its writes, handoff that handoff may, guarded that the guard does.
	constant, handoff, guarded bool
	optedIn                    bool
	// byUser reports that a user has scaled the Deployment, instead of an autoscaler.
	byUser bool
	// want are the replicas that each write results in.
	want int32

	api client.Client
	// times are those of the writes; the CPU times are the sums of all writes.
	times              []time.Duration
	apiServer, webhook time.Duration
}

// write sets the replicas of the Deployment as kubectl apply does, in a dry run: each write finds the same object, and none waits
// for a disk. The error reports another result than the expected one: the API server did not wait for the webhook.
func (s *space) write(ctx context.Context) error {
	d := s.deployment()
	patch := client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, applied))
	if err := s.api.Patch(ctx, d, patch, client.DryRunAll, client.FieldOwner(applier)); err != nil {
		return fmt.Errorf("patching the Deployment: %w", err)
	}
	if got := *d.Spec.Replicas; got != s.want {
		return fmt.Errorf("got %d replicas, which admission does not set, want %d", got, s.want)
	}
	return nil
}

func (s *space) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: workload}}
}

// size returns the size of the stored Deployment as JSON.
func (s *space) size(ctx context.Context) (int, error) {
	d := s.deployment()
	if err := s.api.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		return 0, fmt.Errorf("reading a Deployment: %w", err)
	}
	text, err := json.Marshal(d)
	return len(text), err
}

// setUp creates the objects of the namespace.
func (s *space) setUp(ctx context.Context, api client.Client) error {
	s.api = api
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: map[string]string{}}}
	for label, is := range map[string]bool{constantLabel: s.constant, guardLabel: s.guarded, systemLabel: !s.handoff} {
		if is {
			namespace.Labels[label] = map[bool]string{true: "true", false: "yes"}[label == systemLabel]
		}
	}
	if s.optedIn {
		namespace.Annotations = map[string]string{optin.Annotation: "enforce"}
	}
	if err := api.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	if err := s.apply(ctx); err != nil {
		return err
	}
	if s.byUser {
		return s.scale(ctx, "kubectl")
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: workload},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas:    20,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: workload},
		},
	}
	if err := api.Create(ctx, hpa); err != nil {
		return fmt.Errorf("creating the HorizontalPodAutoscaler: %w", err)
	}
	return s.scale(ctx, "kube-controller-manager")
}

// apply creates the Deployment as kubectl apply does.
func (s *space) apply(ctx context.Context) error {
	variables := make([]string, s.variables)
	for i := range variables {
		variables[i] = fmt.Sprintf(`{"name":"SETTING_%04d","value":"value %04d"}`, i, i)
	}
	text := strings.NewReplacer("NAMESPACE", s.name, "VARIABLES", strings.Join(variables, ",")).Replace(manifest)
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

const manifest = `{"apiVersion":"apps/v1",
"kind":"Deployment","metadata":{"name":"web","namespace":"NAMESPACE","labels":{"app.kubernetes.io/name":"web"}},
"spec":{"replicas":3,"selector":{"matchLabels":{"app.kubernetes.io/name":"web"}},
"template":{"metadata":{"labels":{"app.kubernetes.io/name":"web"}},
"spec":{"containers":[{"name":"app","image":"registry.invalid/shop/web:1.2.3","ports":[{"containerPort":8080}],
"env":[VARIABLES],"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}`

// scale scales the Deployment through /scale.
func (s *space) scale(ctx context.Context, manager string) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, scaled))
	if err := s.api.SubResource("scale").Patch(ctx, s.deployment(), patch, client.FieldOwner(manager)); err != nil {
		return fmt.Errorf("scaling the Deployment: %w", err)
	}
	return nil
}
