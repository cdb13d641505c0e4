package memory

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

const (
	scaledObjects = 10_000
	kedaVersion   = "v1alpha1"
)

// follow makes the state know scalers. The returned function reports whether it does.
func follow(ctx context.Context, config *rest.Config, facts *cluster.State) (ready func() bool, err error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	run := facts.FollowScalers(cluster.ScalerOptions{Kinds: scale.Kinds(), Client: objects, Log: logr.Discard()})
	go func() { _ = run(ctx) }() // it ends only with the context
	last := scaledObjects - 1
	return func() bool {
		return facts.Ready() && facts.Scaler(namespaceName(last%namespaces), "apps", "Deployment", queueName(last)).Name != ""
	}, nil
}

// fillScalers creates the ScaledObjects, which are spread over the namespaces.
func fillScalers(ctx context.Context, config *rest.Config, progress io.Writer) error {
	api, err := unlimited(config)
	if err != nil {
		return err
	}
	if err := api.Create(ctx, scaledObjectKind()); err != nil {
		return fmt.Errorf("creating the kind ScaledObject: %w", err)
	}
	served := func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("keda.sh/" + kedaVersion)
		list.SetKind("ScaledObjectList")
		return api.List(ctx, list) == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, served); err != nil {
		return fmt.Errorf("waiting for the kind ScaledObject: %w", err)
	}
	return create(ctx, api, progress, "ScaledObjects", scaledObjects, scaledObject)
}

func scaledObjectKind() *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "scaledobjects.keda.sh"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "keda.sh", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "scaledobjects", Kind: "ScaledObject"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kedaVersion, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
				},
			}},
		},
	}
}

func queueName(i int) string { return fmt.Sprintf("queue-%05d", i) }

// scaledObject returns the i-th ScaledObject, with two triggers.
func scaledObject(i int) (client.Object, error) {
	name := queueName(i)
	trigger := func(query string) any {
		return map[string]any{"type": "prometheus", "metadata": map[string]any{
			"serverAddress": "http://prometheus.monitoring.svc:9090", "query": query, "threshold": "250", "activationThreshold": "1",
		}}
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/" + kedaVersion, "kind": "ScaledObject",
		"metadata": map[string]any{
			"name": name, "namespace": namespaceName(i % namespaces),
			"labels": map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"},
		},
		"spec": map[string]any{
			"scaleTargetRef":  map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
			"pollingInterval": int64(30), "cooldownPeriod": int64(300), "minReplicaCount": int64(0), "maxReplicaCount": int64(40),
			"triggers": []any{
				trigger("sum(rate(http_requests_total{app=\"" + name + "\"}[2m]))"), trigger("max(queue_length{queue=\"" + name + "\"})"),
			},
		},
	}}
	return applied(o)
}
