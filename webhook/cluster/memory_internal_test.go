package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	stdruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/expect"
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
	scalers := heldPer(t, 10_000, reducedBy(w.reduce), func(i int) any {
		return decoded(t, text("keda.sh/v1alpha1", "ScaledObject", i), &unstructured.Unstructured{})
	})
	autoscalers := heldPer(t, 10_000, reducedBy(reduceAutoscaler), func(i int) any {
		return decoded(t, text("autoscaling/v2", "HorizontalPodAutoscaler", i), &autoscalingv2.HorizontalPodAutoscaler{})
	})
	t.Logf("%.0f B for each scaler, %.0f B for each HorizontalPodAutoscaler", scalers, autoscalers)
	if autoscalers > limit || scalers > autoscalers*5/4 {
		t.Errorf("a scaler takes %.0f B, a HorizontalPodAutoscaler %.0f B, want at most %d, and a quarter more", scalers, autoscalers, limit)
	}
}

// TestLongReferencesTakeNoMemory verifies that texts in a reference and in an owner reference, which the API server accepts at
// any length, are not stored if no object can have them.
func TestLongReferencesTakeNoMemory(t *testing.T) {
	const objects, limit = 5, 16 << 10
	w := &scalerWatch{kind: scale.Kinds()[0]}
	for sentence, c := range map[string]struct{ metadata, apiVersion, kind, name string }{
		"a name": {"", "apps/v1", "Deployment", "LONG"}, "a kind": {"", "apps/v1", "LONG", "web"}, "a group": {"", "LONG/v1", "Deployment", "web"},
		"a version": {"", "apps/LONG", "Deployment", "web"}, "a malformed apiVersion": {"", "a/b/LONG", "LONG", "LONG"},
		"a name, while the object is deleted": {`"deletionTimestamp":"2026-01-01T00:00:00Z",`, "apps/v1", "Deployment", "LONG"},
		"an owner":                            {`"ownerReferences":[{"controller":true,"kind":"LONG","name":"LONG"}],`, "apps/v1", "Deployment", "web"},
	} {
		text := func(i int) []byte {
			return []byte(strings.ReplaceAll(fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Scaler","metadata":{%s"name":"%d"},"spec":{"scaleTargetRef":{"apiVersion":%q,"kind":%q,"name":%q}}}`,
				c.metadata, i, c.apiVersion, c.kind, c.name), "LONG", strings.Repeat("x", 1<<20)))
		}
		scalers := heldPer(t, objects, reducedBy(w.reduce), func(i int) any { return decoded(t, text(i), &unstructured.Unstructured{}) })
		autoscalers := heldPer(t, objects, reducedBy(reduceAutoscaler), func(i int) any { return decoded(t, text(i), &autoscalingv2.HorizontalPodAutoscaler{}) })
		if max(scalers, autoscalers) > limit {
			t.Errorf("%s: a scaler takes %.0f B, a HorizontalPodAutoscaler %.0f B, want at most %d", sentence, scalers, autoscalers, limit)
		}
	}
}

// TestAReportOfASharedTargetGrowsLinearly verifies that a tenant who creates many scalers of one object, with the longest names,
// causes short notes, which the API server accepts, and that twice as many scalers cost about twice as much.
func TestAReportOfASharedTargetGrowsLinearly(t *testing.T) {
	const few = 300
	watch, name := &scalerWatch{kind: scale.Kinds()[0]}, strings.Repeat("x", 249)
	var allocated []int64
	for _, number := range []int{few, 2 * few} {
		watch.informer = newInformer(&toolscache.ListWatch{}, &scaler{}, 0, toolscache.Indexers{byTarget: targetOfScaler})
		r := &reports{log: logr.Discard(), state: &State{scalers: &scalers{}, informers: map[string]*renewingInformer{hpaResource: watch.informer}}}
		for i := range number {
			o := &scaler{targets: true}
			o.Name = fmt.Sprintf("%s%04d", name, i)
			o.UID, o.reference.Scaler, o.reference.Target.Kind = types.UID(o.Name), "ScaledObject/"+o.Name, "not in a note"
			expect.NoError(t, watch.informer.GetIndexer().Add(o))
		}
		allocated = append(allocated, testing.Benchmark(func(b *testing.B) {
			b.Helper()
			for b.Loop() {
				r.reportScalers([]*scalerWatch{watch})
			}
		}).AllocedBytesPerOp())
		notes := map[string]int{}
		for _, note := range r.reported {
			notes[note]++
		}
		want := fmt.Sprintf("several scalers scale the same workload: ScaledObject/%s0000, ScaledObject/%s0001 and %d others; delete all but one", name, name, number-2)
		if diff := cmp.Diff(map[string]int{want: number}, notes); diff != "" {
			t.Errorf("%d scalers (-want +got):\n%.2000s", number, diff)
		}
	}
	if allocated[1] > 3*allocated[0] {
		t.Errorf("twice as many scalers allocate %d B instead of %d B", allocated[1], allocated[0])
	}
	_, note := (&reports{}).problemOf(&scaler{problem: strings.Repeat("ü", maxNote)}, nil)
	expect.Equal(t, "a long note", strings.Repeat("ü", maxNote/2), note)
}

// TestAListIsReducedPageByPage verifies that a page of objects is reduced before the next is read, with an API server that, as the
// real ones, returns all objects at once from its cache.
func TestAListIsReducedPageByPage(t *testing.T) {
	type counts struct{ Requests, Unreduced, Listed int }
	const objects = 10*pageSize + 1
	for sentence, want := range map[string]counts{
		"a large list": {11, pageSize, objects},
		"a list that expires after its first page is read at once, as client-go does": {3, objects, objects},
	} {
		var got counts
		unreduced := 0
		informer := newInformer(&toolscache.ListWatch{ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			got.Requests++
			from, _ := strconv.Atoi(o.Continue)
			if from > 0 && strings.Contains(sentence, "expires") {
				return nil, apierrors.NewResourceExpired("too old")
			}
			list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, objects-from)}
			if o.ResourceVersion != "0" && o.Limit > 0 && o.Limit < int64(objects-from) {
				list.Items = list.Items[:o.Limit]
				list.SetContinue(strconv.Itoa(from + len(list.Items)))
			}
			unreduced += len(list.Items)
			got.Unreduced = max(got.Unreduced, unreduced)
			return list, nil
		}}, &scaler{}, 0, nil)
		_ = informer.SetTransform(func(any) (any, error) { unreduced--; return &scaler{}, nil }) // never fails before the start
		list, err := informer.renewal.list(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
		got.Listed = meta.LenList(list)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", sentence, err, diff)
		}
	}
}

func decoded[T any](t *testing.T, text []byte, into T) T {
	t.Helper()
	expect.NoError(t, json.Unmarshal(text, into))
	return into
}

// heldPer returns the memory that an index takes for each object, after a transform.
func heldPer(t *testing.T, objects int, reduce toolscache.TransformFunc, object func(i int) any) float64 {
	t.Helper()
	heap := func() uint64 {
		stdruntime.GC()
		stdruntime.GC() // collects objects whose finalizers the first one ran
		var stats stdruntime.MemStats
		stdruntime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	index := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{byTarget: targetOfScaler})
	for i := range objects {
		reduced, err := reduce(object(i))
		expect.NoError(t, err)
		expect.NoError(t, index.Add(reduced))
	}
	after := heap()
	if got := len(index.ListKeys()); got != objects { // which also keeps the index alive
		t.Fatalf("got %d objects, want %d", got, objects)
	}
	return float64(after-min(before, after)) / float64(objects)
}
