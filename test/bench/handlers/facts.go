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

// factsOf returns the facts of a cluster that holds the given objects and never changes. The informers, their transforms
// and their indexes are the real ones; only what they list and watch is not behind an API server.
func factsOf(ctx context.Context, objects ...client.Object) (*cluster.Facts, error) {
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
		return toolscache.NewSharedIndexInformer(still(objects, example), example, resync, indexers)
	}
	// Nobody answers there, and nobody is asked.
	informers, err := cache.New(&rest.Config{Host: "https://127.0.0.1:1"}, options)
	if err != nil {
		return nil, fmt.Errorf("informers of a still cluster: %w", err)
	}
	facts, err := cluster.New(ctx, informers)
	if err != nil {
		return nil, fmt.Errorf("facts of a still cluster: %w", err)
	}
	go func() { _ = informers.Start(ctx) }() // it only ends with the context
	if !informers.WaitForCacheSync(ctx) || !facts.Ready() {
		return nil, errors.New("facts of a still cluster: they do not get ready")
	}
	return facts, nil
}

// mapper knows what the informers read.
func mapper() meta.RESTMapper {
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	known.Add(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), meta.RESTScopeNamespace)
	known.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	return known
}

// still lists those objects of the example's type, and then has nothing more to say.
func still(objects []client.Object, example runtime.Object) stillWatch {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, object := range objects {
		if reflect.TypeOf(object) == reflect.TypeOf(example) {
			list.Items = append(list.Items, runtime.RawExtension{Object: object})
		}
	}
	return stillWatch{&toolscache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list.DeepCopy(), nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}}
}

// stillWatch is a ListWatch that cannot begin a watch with a list.
type stillWatch struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported makes the informer list first.
func (stillWatch) IsWatchListSemanticsUnSupported() bool { return true }

// namespace and autoscaler are such objects as the API server would list them.
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
