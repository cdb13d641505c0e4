package cluster

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// TestAnAutoscalerTakesAtMostOneKilobyte measures what the caches store of 10,000 objects of each kind.
func TestAnAutoscalerTakesAtMostOneKilobyte(t *testing.T) {
	const limit = 1024
	const format = `{"apiVersion":%q,"kind":%q,"metadata":{"name":"web-%d","namespace":"team-%d","uid":"00000000-0000-0000-0000-%012d",
		"resourceVersion":"%d","annotations":{"a":%q}},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web-%d"},
		"minReplicas":3,"maxReplicas":9}}`
	text := func(apiVersion, kind string, i int) []byte {
		return fmt.Appendf(nil, format, apiVersion, kind, i, i%1000, i, i, strings.Repeat("x", 2000), i)
	}
	w := &scalerWatch{kind: scale.Kinds()[0]}
	scalers := heldPer(t, toolscache.Indexers{byTarget: targetOfScaler}, reducedBy(w.keep), func(i int) any {
		return decoded(t, text("keda.sh/v1alpha1", "ScaledObject", i), &unstructured.Unstructured{})
	})
	autoscalers := heldPer(t, toolscache.Indexers{byTarget: targetOfScaler}, reducedBy(keepAutoscaler), func(i int) any {
		return decoded(t, text("autoscaling/v2", "HorizontalPodAutoscaler", i), &autoscalingv2.HorizontalPodAutoscaler{})
	})
	t.Logf("%d B for each scaler, %d B for each HorizontalPodAutoscaler", scalers, autoscalers)
	if autoscalers > limit || scalers > autoscalers*5/4 {
		t.Errorf("a scaler takes %d B, a HorizontalPodAutoscaler %d B, want at most %d, and a quarter more", scalers, autoscalers, limit)
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
