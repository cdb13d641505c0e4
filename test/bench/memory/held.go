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
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// The caches that are compared.
const (
	// Facts is the webhook's own.
	Facts = "facts"
	// Whole is what the same three kinds take by default: typed objects, as they come.
	Whole = "whole"
)

// Held starts a cache in this process, waits until it has all of the cluster, and returns the bytes of heap that it
// holds. It is meant for a process of its own, which has no other use of the heap.
func Held(ctx context.Context, kubeconfig, which string) (uint64, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, fmt.Errorf("read the kubeconfig: %w", err)
	}
	options := cache.Options{}
	if which == Facts {
		options = cluster.CacheOptions()
	}
	if options.Scheme, err = cluster.Scheme(); err != nil {
		return 0, err
	}
	informers, err := cache.New(config, options)
	if err != nil {
		return 0, fmt.Errorf("cache: %w", err)
	}
	before := heap()
	if err := synced(ctx, informers, which); err != nil {
		return 0, err
	}
	// What the first list was decoded with goes when its connections and its buffers have come to rest.
	time.Sleep(2 * time.Second)
	after := heap()
	runtime.KeepAlive(informers)
	if after < before {
		return 0, errors.New("the heap has become smaller")
	}
	return after - before, nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one found to have a finalizer
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// synced starts the informers and waits until they have all that there is.
func synced(ctx context.Context, informers cache.Cache, which string) error {
	ready := func() bool { return true }
	switch which {
	case Facts:
		facts, err := cluster.New(ctx, informers)
		if err != nil {
			return err
		}
		ready = facts.Ready
	case Whole:
		for _, o := range []client.Object{
			&corev1.Namespace{}, &autoscalingv2.HorizontalPodAutoscaler{}, &apiextensionsv1.CustomResourceDefinition{},
		} {
			if _, err := informers.GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
				return fmt.Errorf("watch %T: %w", o, err)
			}
		}
	default:
		return fmt.Errorf("no such cache: %s", which)
	}
	go func() { _ = informers.Start(ctx) }() // it only ends with the context
	if !informers.WaitForCacheSync(ctx) || !ready() {
		return errors.New("the cache does not sync")
	}
	return complete(ctx, informers)
}

// complete makes sure that the cache holds what it is measured for.
func complete(ctx context.Context, informers cache.Cache) error {
	var list autoscalingv2.HorizontalPodAutoscalerList
	if err := informers.List(ctx, &list); err != nil {
		return fmt.Errorf("list what is held: %w", err)
	}
	if len(list.Items) != autoscalers {
		return fmt.Errorf("%d HorizontalPodAutoscalers are held, want %d", len(list.Items), autoscalers)
	}
	return nil
}
