package memory

import (
	"context"
	"errors"
	"fmt"
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

// Held starts a cache in this process, waits until it has synced, and returns its size on the heap in bytes. Call it in a
// separate process, whose heap has no other content.
func Held(ctx context.Context, kubeconfig, which string) (uint64, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	options := cache.Options{}
	switch which {
	case Facts:
		options = cluster.CacheOptions()
	case Scalers:
		options = cluster.CacheOptions(scale.Kinds()...)
	}
	if options.Scheme, err = cluster.Scheme(); err != nil {
		return 0, err
	}
	informers, err := cache.New(config, options)
	if err != nil {
		return 0, fmt.Errorf("creating the cache: %w", err)
	}
	before := heap()
	if err := synced(ctx, config, informers, which); err != nil {
		return 0, err
	}
	// Wait until the connections and buffers of the first list are idle and can be collected.
	time.Sleep(2 * time.Second)
	after := heap()
	runtime.KeepAlive(informers)
	if after < before {
		return 0, errors.New("the heap shrank while the cache was filled")
	}
	return after - before, nil
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
	return complete(ctx, informers)
}

// complete verifies that the cache contains all HorizontalPodAutoscalers.
func complete(ctx context.Context, informers cache.Cache) error {
	var list autoscalingv2.HorizontalPodAutoscalerList
	if err := informers.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the cached HorizontalPodAutoscalers: %w", err)
	}
	if len(list.Items) != autoscalers {
		return fmt.Errorf("the cache has %d HorizontalPodAutoscalers, want %d", len(list.Items), autoscalers)
	}
	return nil
}
