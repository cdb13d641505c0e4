package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// TestAReportOfASharedTargetGrowsLinearly verifies that a tenant who creates many scalers of one object, with the longest names,
// causes short notes, which the API server accepts, and that twice as many scalers cost about twice as much.
func TestAReportOfASharedTargetGrowsLinearly(t *testing.T) {
	const few = 300
	allocated := map[int]uint64{}
	for _, number := range []int{few, 2 * few} {
		r := reportsOf(t, number)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 2 * few / maxReports {
			r.reportScalers(r.state.scalers.running())
		}
		runtime.ReadMemStats(&after)
		allocated[number] = after.TotalAlloc - before.TotalAlloc
		notes, name := map[string]int{}, "ScaledObject/"+strings.Repeat("x", 249)
		for _, note := range r.reported {
			notes[note]++
		}
		want := fmt.Sprintf("several scalers scale the same workload: %s0000, %s0001 and %d others; delete all but one", name, name, number-2)
		if diff := cmp.Diff(map[string]int{want: number}, notes); diff != "" || len(want) >= 1024 {
			t.Errorf("%d scalers: notes of %d B (-want +got):\n%.2000s", number, len(want), diff)
		}
	}
	_, note := reportsOf(t, 0).problemOf(&scaler{problem: strings.Repeat("ü", maxNote)}, nil)
	if diff := cmp.Diff(strings.Repeat("ü", maxNote/2), note); diff != "" {
		t.Errorf("a long note (-want +got):\n%s", diff)
	}
	if ratio := float64(allocated[2*few]) / float64(allocated[few]); ratio > 3 {
		t.Errorf("twice as many scalers allocate %.1f times as much", ratio)
	}
}

// reportsOf returns the reports of a state with a number of ScaledObjects that reference the same object.
func reportsOf(t *testing.T, number int) *reports {
	t.Helper()
	informer := func() *renewingInformer {
		return newInformer(&toolscache.ListWatch{}, &unstructured.Unstructured{}, 0, toolscache.Indexers{byTarget: targetOfScaler})
	}
	watch := &scalerWatch{kind: scale.Kinds()[0], informer: informer()}
	for i := range number {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{"kind": "not in a note", "name": "web"}}}}
		o.SetName(fmt.Sprintf("%s%04d", strings.Repeat("x", 249), i))
		o.SetUID(types.UID(o.GetName()))
		if err := watch.informer.GetIndexer().Add(watch.keep(o)); err != nil {
			t.Fatal(err)
		}
	}
	state := &State{informers: map[string]*renewingInformer{hpaResource: informer()}, scalers: &scalers{}}
	state.scalers.known.Store(&watchedKinds{watches: []*scalerWatch{watch}})
	return &reports{state: state, log: logr.Discard()}
}
