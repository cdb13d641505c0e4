package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestOnlyTheReferenceOfAScalerIsStored(t *testing.T) {
	w := &scalerWatch{kind: scale.Kinds()[0]}
	kept := w.keep(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "labels": map[string]any{"a": "b"},
			"annotations":   map[string]any{"autoscaling.keda.sh/paused-replicas": "0"},
			"managedFields": []any{map[string]any{"manager": "kubectl"}},
		},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "web", "envSourceContainerName": "app"},
			"triggers":       []any{map[string]any{"type": "cron"}},
		},
		"status": map[string]any{"hpaName": "keda-hpa-web"},
	}})
	want := &scaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u", ResourceVersion: "7"},
		reference: scale.Reference{
			Scaler: "ScaledObject/web", Target: schema.GroupKind{Group: "apps", Kind: "Deployment"}, TargetName: "web",
		},
		targets: true,
	}
	if diff := cmp.Diff(want, kept, cmp.AllowUnexported(scaler{}, scale.Reference{})); diff != "" {
		t.Errorf("the stored object (-want +got):\n%s", diff)
	}
}
