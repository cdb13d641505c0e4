package handlers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// stateOf returns the state of a cluster that consists of the given objects and never changes. The informers, their
// transforms and their indexes are the real ones; only the lists and watches do not come from an API server.
func stateOf(ctx context.Context, objects ...client.Object) (*cluster.State, error) {
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, err
	}
	options := cluster.CacheOptions()
	options.Scheme = scheme
	options.Mapper = mapper()
	options.NewInformer = func(
		_ toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(staticList(objects, example), example, resync, indexers)
	}
	// No server listens at this address, and no request is sent to it.
	informers, err := cache.New(&rest.Config{Host: "https://127.0.0.1:1"}, options)
	if err != nil {
		return nil, fmt.Errorf("creating informers for a static cluster: %w", err)
	}
	state, err := cluster.New(ctx, informers)
	if err != nil {
		return nil, fmt.Errorf("creating state of a static cluster: %w", err)
	}
	go func() { _ = informers.Start(ctx) }() // it ends only with the context
	if !informers.WaitForCacheSync(ctx) || !state.Ready() {
		return nil, errors.New("state of a static cluster: the caches did not sync")
	}
	return state, nil
}

// mapper returns the REST mappings of the kinds that the informers read.
func mapper() meta.RESTMapper {
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	known.Add(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), meta.RESTScopeNamespace)
	known.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	return known
}

// staticList lists the objects of the example's type, and watches without any event.
func staticList(objects []client.Object, example runtime.Object) staticWatch {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, object := range objects {
		if reflect.TypeOf(object) == reflect.TypeOf(example) {
			list.Items = append(list.Items, runtime.RawExtension{Object: object})
		}
	}
	return staticWatch{&toolscache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list.DeepCopy(), nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}}
}

// staticWatch is a ListWatch without support for streaming lists.
type staticWatch struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported returns true, so that the informer lists before it watches.
func (staticWatch) IsWatchListSemanticsUnSupported() bool { return true }

// namespace returns a Namespace as the API server would list it; autoscaler does the same for a HorizontalPodAutoscaler.
func namespace(name string, annotations map[string]string) client.Object {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

func autoscaler(namespace, name string, target schema.GroupVersionKind) client.Object {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: target.GroupVersion().String(), Kind: target.Kind, Name: name,
			},
			MaxReplicas: 20,
		},
	}
}
