package cluster_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// TestAnAutoscalerTakesAtMostOneKilobyte measures the heap of the whole cache.
func TestAnAutoscalerTakesAtMostOneKilobyte(t *testing.T) {
	const autoscalers, limit = 10_000, 1024
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	before := heap()
	informers, err := cache.New(&rest.Config{Host: "https://127.0.0.1:1"}, listing(t, autoscalers))
	if err != nil {
		t.Fatal(err)
	}
	state, err := cluster.New(ctx, informers)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		t.Fatal("the cache did not sync")
	}
	each := (heap() - before) / autoscalers
	if found := state.Scaler("team-00000", "apps", "Deployment", "web-00000"); found.Name == "" {
		t.Fatal("a HorizontalPodAutoscaler is not found by its target")
	}
	t.Logf("%d B for each HorizontalPodAutoscaler", each)
	if each > limit {
		t.Errorf("a HorizontalPodAutoscaler takes %d B, want at most %d", each, limit)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // collects objects whose finalizers the first one ran
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// listing returns the options of the state's cache, with a list of HorizontalPodAutoscalers and nothing else.
func listing(t *testing.T, autoscalers int) cache.Options {
	t.Helper()
	options := cluster.CacheOptions()
	var err error
	if options.Scheme, err = cluster.Scheme(); err != nil {
		t.Fatal(err)
	}
	newInformer := options.NewInformer
	options.NewInformer = func(
		_ toolscache.ListerWatcher, example k8sruntime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		list := func(context.Context, metav1.ListOptions) (k8sruntime.Object, error) {
			all := &autoscalingv2.HorizontalPodAutoscalerList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
			if _, ok := example.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				for i := range autoscalers {
					all.Items = append(all.Items, decodedAutoscaler(i))
				}
			}
			return all, nil
		}
		silent := func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				return nil, apierrors.NewBadRequest("lists are not streamed")
			}
			return watch.NewFake(), nil
		}
		source := &toolscache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: silent}
		return newInformer(source, example, resync, indexers)
	}
	return options
}

// decodedAutoscaler returns a HorizontalPodAutoscaler, whose strings share no memory, as if decoded.
func decodedAutoscaler(i int) autoscalingv2.HorizontalPodAutoscaler {
	return autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%05d", i%1000), Name: fmt.Sprintf("web-%05d", i), ResourceVersion: strconv.Itoa(1000 + i),
			UID: "00000000-0000-0000-0000-000000000000", Labels: map[string]string{"app": "web"},
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: strings.Clone("apps/v1"), Kind: strings.Clone("Deployment"), Name: fmt.Sprintf("web-%05d", i),
			},
			MinReplicas: new(int32(3)), MaxReplicas: 40,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType}},
		},
	}
}
