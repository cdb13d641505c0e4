package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// The names of the compared caches.
const (
	// Facts is the webhook's own cache.
	Facts = "facts"
	// Whole is a default cache of the same three kinds: typed objects without transforms.
	Whole = "whole"
	// Scalers is the webhook's own cache with that of other scalers.
	Scalers = "scalers"
)

// Holding is a filled cache.
type Holding struct {
	// Bytes is its size on the heap, Seconds the time until it was filled.
	Bytes   uint64  `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Held starts a cache in this process, waits until it has synced, and returns its size. It returns an error unless the cache
// contains the given number of HorizontalPodAutoscalers. Call it in a separate process, whose heap has no other content.
func Held(ctx context.Context, kubeconfig, which string, autoscalers int) (held Holding, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return held, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	options := cache.Options{}
	switch which {
	case Facts:
		options = cluster.CacheOptions()
	case Scalers:
		options = cluster.CacheOptions(scale.Kinds()...)
	}
	if options.Scheme, err = cluster.Scheme(); err != nil {
		return held, err
	}
	informers, err := cache.New(config, options)
	if err != nil {
		return held, fmt.Errorf("creating the cache: %w", err)
	}
	before, began := heap(), time.Now()
	if err := synced(ctx, config, informers, which); err != nil {
		return held, err
	}
	held.Seconds = time.Since(began).Seconds()
	if err := complete(ctx, informers, autoscalers); err != nil {
		return held, err
	}
	after := settledHeap()
	runtime.KeepAlive(informers)
	if after < before {
		return held, errors.New("the heap shrank while the cache was filled")
	}
	held.Bytes = after - before
	return held, nil
}

// settledHeap returns the size of the heap once the connections and buffers of the first list are idle and collected: it does not
// change much any more.
func settledHeap() uint64 {
	for size := heap(); ; {
		time.Sleep(2 * time.Second)
		next := heap()
		if math.Abs(float64(next)-float64(size)) < float64(size)/100 {
			return next
		}
		size = next
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // collects objects whose finalizers the first one ran
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// synced starts the informers and waits until they have synced.
func synced(ctx context.Context, config *rest.Config, informers cache.Cache, which string) error {
	ready := func() bool { return true }
	switch which {
	case Facts, Scalers:
		facts, err := cluster.New(ctx, informers)
		if err != nil {
			return err
		}
		ready = facts.Ready
		if which == Scalers {
			if ready, err = follow(ctx, config, facts); err != nil {
				return err
			}
		}
	case Whole:
		for _, o := range []client.Object{
			&corev1.Namespace{}, &autoscalingv2.HorizontalPodAutoscaler{}, &apiextensionsv1.CustomResourceDefinition{},
		} {
			if _, err := informers.GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
				return fmt.Errorf("watching %T: %w", o, err)
			}
		}
	default:
		return fmt.Errorf("unknown cache %q", which)
	}
	go func() { _ = informers.Start(ctx) }() // it ends only with the context
	if !informers.WaitForCacheSync(ctx) {
		return errors.New("the cache did not sync")
	}
	isReady := func(context.Context) (bool, error) { return ready(), nil }
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, isReady); err != nil {
		return fmt.Errorf("waiting until the state is ready: %w", err)
	}
	return nil
}

// complete verifies that the cache contains all HorizontalPodAutoscalers.
func complete(ctx context.Context, informers cache.Cache, want int) error {
	var list autoscalingv2.HorizontalPodAutoscalerList
	if err := informers.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the cached HorizontalPodAutoscalers: %w", err)
	}
	if len(list.Items) != want {
		return fmt.Errorf("the cache has %d HorizontalPodAutoscalers, want %d", len(list.Items), want)
	}
	return nil
}
