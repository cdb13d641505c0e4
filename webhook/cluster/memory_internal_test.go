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
	scalers := heldPer(t, 10_000, reducedBy(w.keep), func(i int) any {
		return decoded(t, text("keda.sh/v1alpha1", "ScaledObject", i), &unstructured.Unstructured{})
	})
	autoscalers := heldPer(t, 10_000, reducedBy(keepAutoscaler), func(i int) any {
		return decoded(t, text("autoscaling/v2", "HorizontalPodAutoscaler", i), &autoscalingv2.HorizontalPodAutoscaler{})
	})
	t.Logf("%d B for each scaler, %d B for each HorizontalPodAutoscaler", scalers, autoscalers)
	if autoscalers > limit || scalers > autoscalers*5/4 {
		t.Errorf("a scaler takes %d B, a HorizontalPodAutoscaler %d B, want at most %d, and a quarter more", scalers, autoscalers, limit)
	}
}

// TestLongReferencesTakeNoMemory verifies that texts in a reference and in an owner reference, which the API server accepts at
// any length, are not stored if no object can have them.
func TestLongReferencesTakeNoMemory(t *testing.T) {
	const text, limit = 1 << 20, 16 << 10
	w := &scalerWatch{kind: scale.Kinds()[0]}
	for sentence, spec := range map[string]string{
		"a name":                        `{"apiVersion":"apps/v1","kind":"Deployment","name":"LONG"}`,
		"a kind":                        `{"apiVersion":"apps/v1","kind":"LONG","name":"web"}`,
		"a group":                       `{"apiVersion":"LONG/v1","kind":"Deployment","name":"web"}`,
		"a version":                     `{"apiVersion":"apps/LONG","kind":"Deployment","name":"web"}`,
		"a malformed apiVersion":        `{"apiVersion":"a/b/LONG","kind":"LONG","name":"LONG"}`,
		"a name, of a deleted object":   `{"name":"LONG"}},"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"a":{}`,
		"the name and kind of an owner": `{"name":"web"}},"metadata":{"ownerReferences":[{"controller":true,"kind":"LONG","name":"LONG"}]},"status":{"a":{}`,
	} {
		object := func(i int) []byte {
			return []byte(strings.ReplaceAll(`{"spec":{"scaleTargetRef":`+spec+`}}`, "LONG", strings.Repeat(string(rune('a'+i)), text)))
		}
		scalers := heldPer(t, 5, reducedBy(w.keep), func(i int) any {
			o := &unstructured.Unstructured{Object: *decoded(t, object(i), &map[string]any{})}
			o.SetName(fmt.Sprint(i))
			return o
		})
		autoscalers := heldPer(t, 5, reducedBy(keepAutoscaler), func(i int) any {
			hpa := decoded(t, object(i), &autoscalingv2.HorizontalPodAutoscaler{})
			hpa.Name = fmt.Sprint(i)
			return hpa
		})
		if max(scalers, autoscalers) > limit {
			t.Errorf("%s: a scaler takes %d B, a HorizontalPodAutoscaler %d B, want at most %d", sentence, scalers, autoscalers, limit)
		}
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
func heldPer(t *testing.T, objects int, keep toolscache.TransformFunc, object func(i int) any) uint64 {
	t.Helper()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // collects objects whose finalizers the first one ran
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	index := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{byTarget: targetOfScaler})
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
	return (after - min(before, after)) / uint64(objects)
}
