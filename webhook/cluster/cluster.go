// Package cluster provides the cluster state that the webhook needs in addition to a review.
//
// It returns the mode annotations of namespaces, the scalers that reference an object (HorizontalPodAutoscalers and others, such
// as KEDA's ScaledObjects), and the scale paths of custom resources. It reads them from informers that store nothing else.
//
// It also repairs the label of namespaces that have opted in (Labels).
package cluster

import (
	"context"
	"fmt"
	"sync/atomic"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// The indexes of the informers.
const (
	byTarget = "target"
	byKind   = "kind"
)

// State is the state of a cluster, read from informers. Its methods may be called at any time and never block: until Ready
// returns true, they only return what is built in, because reading from an informer blocks until it has synced.
type State struct {
	reader    client.Reader
	informers map[string]cache.Informer
	hpas      toolscache.Indexer
	freshness map[string]*freshness // by resource, of the informers that renew their watches
	scalers   *scalers              // nil without FollowScalers
	ready     atomic.Bool
}

// Scheme returns the types that the informers read.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	types := runtime.NewSchemeBuilder(corev1.AddToScheme, autoscalingv2.AddToScheme, apiextensionsv1.AddToScheme)
	if err := types.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return scheme, nil
}

// CacheOptions returns the options of a cache for State. The cache drops fields that State does not read before it stores an
// object, returns stored objects without a copy, renews its watches every few seconds, and sends no requests to the API server
// before it is started. scalers are the kinds for State.FollowScalers.
func CacheOptions(scalers ...scale.Kind) cache.Options {
	withoutCopy := true
	return cache.Options{
		Mapper:                       mapper(),
		NewInformer:                  newInformer,
		ReaderFailOnMissingInformer:  true,
		DefaultUnsafeDisableDeepCopy: &withoutCopy,
		ByObject: map[client.Object]cache.ByObject{
			namespaces():                                {Transform: reducedBy(keepMode)},
			&autoscalingv2.HorizontalPodAutoscaler{}:    {Transform: reducedBy(keepAutoscaler)},
			&apiextensionsv1.CustomResourceDefinition{}: {Transform: reducedBy(keepScale(scalers))},
		},
	}
}

// mapper returns the REST mappings of the kinds that State reads. Discovery would require the API server at startup.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	m.Add(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), meta.RESTScopeNamespace)
	m.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	return m
}

func namespaces() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

// New returns a State that reads from a cache with CacheOptions. The caller starts the cache. New does not block.
func New(ctx context.Context, c cache.Cache) (*State, error) {
	f := &State{reader: c, informers: map[string]cache.Informer{}, freshness: map[string]*freshness{}}
	if err := c.IndexField(ctx, &apiextensionsv1.CustomResourceDefinition{}, byKind, kindOf); err != nil {
		return nil, fmt.Errorf("indexing CustomResourceDefinitions: %w", err)
	}
	for resource, object := range map[string]client.Object{
		"namespaces": namespaces(),
		hpaResource:  &autoscalingv2.HorizontalPodAutoscaler{},
		crdResource:  &apiextensionsv1.CustomResourceDefinition{},
	} {
		informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", resource, err)
		}
		f.informers[resource] = informer
		if renewed, ok := informer.(*renewingInformer); ok { // a cache with other options does not record freshness
			f.freshness[resource] = renewed.freshness
		}
	}
	if err := f.indexAutoscalers(); err != nil {
		return nil, fmt.Errorf("indexing HorizontalPodAutoscalers: %w", err)
	}
	return f, nil
}

// indexAutoscalers adds an index by target to the informer itself. An index of the cache (cache.Cache.IndexField) would contain
// each HorizontalPodAutoscaler twice, also for lists of all namespaces, and take a quarter of the memory.
func (f *State) indexAutoscalers() error {
	informer := f.informers[hpaResource]
	indexed, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return fmt.Errorf("informer %T has no index", informer)
	}
	f.hpas = indexed.GetIndexer()
	return informer.AddIndexers(toolscache.Indexers{byTarget: targetOfScaler})
}

// Ready reports whether all informers have synced. Once true, it stays true.
func (f *State) Ready() bool {
	if f.ready.Load() {
		return true
	}
	for _, informer := range f.informers {
		if !informer.HasSynced() {
			return false
		}
	}
	if len(f.scalers.missing()) > 0 {
		return false
	}
	f.ready.Store(true)
	return true
}

// NamespaceMode returns a namespace's mode annotation; ok is false if it has none.
func (f *State) NamespaceMode(namespace string) (mode string, ok bool) {
	if !f.Ready() {
		return "", false
	}
	o := namespaces()
	if err := f.reader.Get(context.Background(), client.ObjectKey{Name: namespace}, o); err != nil {
		return "", false
	}
	mode, ok = o.Annotations[ownership.ModeAnnotation]
	return mode, ok
}

// Scaler returns what is known about the scalers in a namespace that reference an object: HorizontalPodAutoscalers, and those
// of FollowScalers. The version of a reference is ignored.
func (f *State) Scaler(namespace, group, kind, name string) ownership.Scaler {
	if !f.Ready() {
		return ownership.Scaler{}
	}
	key := targetKey{namespace, schema.GroupKind{Group: group, Kind: kind}, name}
	first, _ := scale.Choose(append(references(f.hpas, key), f.scalers.references(key)...))
	return ownership.Scaler{
		Name: first.Scaler, Desired: first.Desired, OffAtZero: first.OffAtZero, Readable: f.scalers.readable(),
	}
}

// ScalePath returns the path of the scale field of a kind, nil if the kind has none. A version of a custom resource without a
// scale subresource has the path of another version.
func (f *State) ScalePath(group, version, kind string) fieldpath.Path {
	if path := scale.Known(group, kind); path != nil {
		return path
	}
	if !f.Ready() {
		return nil
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	groupKind := schema.GroupKind{Group: group, Kind: kind}.String()
	err := f.reader.List(context.Background(), &list, client.MatchingFields{byKind: groupKind})
	if err != nil {
		return nil
	}
	return scale.Declared(list.Items, group, version, kind)
}
