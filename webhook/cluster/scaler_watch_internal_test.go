package cluster

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

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

func TestOnlyTheReferenceOfAHorizontalPodAutoscalerIsStored(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
		Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ScaledObject", Name: "web", Controller: new(true)}},
	}}
	hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		MinReplicas:    new(int32(3)), MaxReplicas: 9, Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType}},
	}
	hpa.Status.DesiredReplicas = 5
	want := &scaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", ResourceVersion: "7"},
		reference: scale.Reference{
			Scaler: "HorizontalPodAutoscaler/web", Target: schema.GroupKind{Group: "apps", Kind: "Deployment"}, TargetName: "web",
			Rank: 1 << 16, Desired: 5, OffAtZero: true, ControlledBy: "ScaledObject/web",
		},
		targets: true,
	}
	if diff := cmp.Diff(want, keepAutoscaler(hpa), cmp.AllowUnexported(scaler{}, scale.Reference{})); diff != "" {
		t.Errorf("the stored object (-want +got):\n%s", diff)
	}
}

// The transforms store little of an object. What they store of one that is being deleted targets nothing.
func TestStoredScalersThatAreBeingDeletedTargetNothing(t *testing.T) {
	const format = `{"apiVersion":%q,"kind":%q,"metadata":{"name":"web","namespace":"shop"%s},"spec":{"scaleTargetRef":{
		"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":9}}`
	const deleted = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
	for metadata, want := range map[string][]string{"": {"shop/Deployment.apps/web"}, deleted: nil} {
		w := &scalerWatch{kind: scale.Kinds()[0]}
		scaler := decoded(t, fmt.Appendf(nil, format, "keda.sh/v1alpha1", "ScaledObject", metadata), &unstructured.Unstructured{})
		hpa := decoded(t, fmt.Appendf(nil, format, "autoscaling/v2", "HorizontalPodAutoscaler", metadata), &autoscalingv2.HorizontalPodAutoscaler{})
		for kind, index := range map[string]func() ([]string, error){
			"ScaledObject":            func() ([]string, error) { return targetOfScaler(w.keep(scaler)) },
			"HorizontalPodAutoscaler": func() ([]string, error) { return targetOfScaler(keepAutoscaler(hpa)) },
		} {
			got, err := index()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("target of a %s with metadata %q (-want +got):\n%s", kind, metadata, diff)
			}
		}
	}
}

// TestAScalerTakesLittleMoreMemoryThanAHorizontalPodAutoscaler compares what the caches store of 10,000 objects of each kind.
func TestAScalerTakesLittleMoreMemoryThanAHorizontalPodAutoscaler(t *testing.T) {
	const format = `{"apiVersion":%q,"kind":%q,"metadata":{"name":"web-%d","namespace":"shop","uid":"00000000-0000-0000-0000-%012d",
		"resourceVersion":"%d","annotations":{"a":%q}},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web-%d"},
		"minReplicas":3,"maxReplicas":9}}`
	text := func(apiVersion, kind string, i int) []byte {
		return fmt.Appendf(nil, format, apiVersion, kind, i, i, i, strings.Repeat("x", 2000), i)
	}
	w := &scalerWatch{kind: scale.Kinds()[0]}
	scalers := heldPer(t, toolscache.Indexers{byTarget: targetOfScaler}, reducedBy(w.keep), func(i int) any {
		return decoded(t, text("keda.sh/v1alpha1", "ScaledObject", i), &unstructured.Unstructured{})
	})
	autoscalers := heldPer(t, toolscache.Indexers{byTarget: targetOfScaler}, reducedBy(keepAutoscaler), func(i int) any {
		return decoded(t, text("autoscaling/v2", "HorizontalPodAutoscaler", i), &autoscalingv2.HorizontalPodAutoscaler{})
	})
	t.Logf("%d B for each scaler, %d B for each HorizontalPodAutoscaler", scalers, autoscalers)
	if scalers > autoscalers*5/4 {
		t.Errorf("a scaler takes %d B, a HorizontalPodAutoscaler %d B", scalers, autoscalers)
	}
}

func decoded[T any](t *testing.T, text []byte, into T) T {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// heldPer returns the memory that an index takes for each object, after a transform.
func heldPer(t *testing.T, indexers toolscache.Indexers, keep toolscache.TransformFunc, object func(i int) any) uint64 {
	t.Helper()
	const objects = 10_000
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // collects objects whose finalizers the first one ran
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	index := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
	for i := range objects {
		kept, err := keep(object(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := index.Add(kept); err != nil {
			t.Fatal(err)
		}
	}
	after := heap()
	if got := len(index.ListKeys()); got != objects { // which also keeps the index alive
		t.Fatalf("got %d objects, want %d", got, objects)
	}
	return (after - min(before, after)) / objects
}
