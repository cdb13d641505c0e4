package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

const (
	namespaces  = 1000
	autoscalers = 10_000
	// workers is how many objects are created concurrently.
	workers = 16
)

// fill creates the namespaces, and then the HorizontalPodAutoscalers, which are spread over them.
func fill(ctx context.Context, config *rest.Config, progress io.Writer) error {
	api, err := unlimited(config)
	if err != nil {
		return err
	}
	if err := create(ctx, api, progress, "namespaces", namespaces, namespace); err != nil {
		return err
	}
	return create(ctx, api, progress, "HorizontalPodAutoscalers", autoscalers, autoscaler)
}

// unlimited returns a client without a rate limit: the API server does not limit administrators either.
func unlimited(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, err
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return api, nil
}

func create(
	ctx context.Context, api client.Client, progress io.Writer, what string, total int, object func(int) (client.Object, error),
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	var created atomic.Int64
	for i := range total {
		group.Go(func() error {
			o, err := object(i)
			if err != nil {
				return err
			}
			if err := api.Create(ctx, o, client.FieldOwner("kubectl-client-side-apply")); err != nil {
				return fmt.Errorf("creating %s: %w", o.GetName(), err)
			}
			if n := created.Add(1); n%2000 == 0 || int(n) == total {
				fmt.Fprintf(progress, "memory: %d of %d %s created\n", n, total, what)
			}
			return nil
		})
	}
	return group.Wait()
}

func namespaceName(i int) string { return fmt.Sprintf("team-%05d", i) }

func autoscalerName(i int) string { return fmt.Sprintf("web-%05d", i) }

// namespace returns the i-th namespace. Handoff is enabled in every second one.
func namespace(i int) (client.Object, error) {
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespaceName(i),
		Labels: map[string]string{
			"example.com/team": namespaceName(i), "example.com/stage": "production",
			"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted",
		},
	}}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if i%2 == 0 {
		o.Annotations = map[string]string{ownership.ModeAnnotation: "enforce"}
	}
	return applied(o)
}

// autoscaler returns the i-th HorizontalPodAutoscaler, with two metrics and both behaviors, without a status.
func autoscaler(i int) (client.Object, error) {
	name := autoscalerName(i)
	o := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespaceName(i % namespaces),
			Labels: map[string]string{
				"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "kustomize",
			},
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    new(int32(3)),
			MaxReplicas:    40,
			Metrics: []autoscalingv2.MetricSpec{
				{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{
						Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(70)),
					},
				}},
				{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
					Metric: autoscalingv2.MetricIdentifier{Name: "http_requests_per_second"},
					Target: autoscalingv2.MetricTarget{
						Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("250")),
					},
				}},
			},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: scaling(0, 100), ScaleDown: scaling(300, 10)},
		},
	}
	o.SetGroupVersionKind(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
	return applied(o)
}

func scaling(window, percent int32) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: &window,
		SelectPolicy:               new(autoscalingv2.MaxChangePolicySelect),
		Policies: []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PercentScalingPolicy, Value: percent, PeriodSeconds: 60},
			{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 60},
		},
	}
}

// applied adds the last-applied annotation that kubectl apply writes.
func applied(o client.Object) (client.Object, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", o.GetName(), err)
	}
	annotations := map[string]string{ownership.LastAppliedAnnotation: string(text)}
	for name, value := range o.GetAnnotations() {
		annotations[name] = value
	}
	o.SetAnnotations(annotations)
	return o, nil
}
