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
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// The resources that are always watched.
const (
	namespaceResource = "namespaces"
	hpaResource       = "horizontalpodautoscalers.autoscaling"
	crdResource       = "customresourcedefinitions.apiextensions.k8s.io"
)

// State is the state of a cluster, read from informers. Its methods may be called at any time and never block: until Ready
// returns true, they only return what is built in.
type State struct {
	informers map[string]*renewingInformer // by resource
	scalers   *scalers                     // nil without FollowScalers
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
// object, renews its watches every few seconds, and sends no requests to the API server before it is started.
func CacheOptions() cache.Options {
	return cache.Options{
		Mapper: mapper(),
		NewInformer: func(
			lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers,
		) toolscache.SharedIndexInformer {
			return newInformer(lw, o, resync, indexers)
		},
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			namespaces():                                {Transform: reducedBy(reduceNamespace)},
			&autoscalingv2.HorizontalPodAutoscaler{}:    {Transform: reducedBy(reduceAutoscaler)},
			&apiextensionsv1.CustomResourceDefinition{}: {Transform: reducedBy(reduceDefinition)},
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

// New returns a State that reads from a cache with CacheOptions. The caller starts the cache. New does not block.
func New(ctx context.Context, c cache.Cache) (*State, error) {
	f := &State{informers: map[string]*renewingInformer{}}
	// An index of the cache (cache.Cache.IndexField) would contain each object twice, also for lists of all namespaces: for
	// HorizontalPodAutoscalers, a quarter of the memory.
	for resource, watched := range map[string]struct {
		object   client.Object
		indexers toolscache.Indexers
	}{
		namespaceResource: {namespaces(), nil},
		hpaResource:       {&autoscalingv2.HorizontalPodAutoscaler{}, toolscache.Indexers{byTarget: targetOfScaler}},
		crdResource:       {&apiextensionsv1.CustomResourceDefinition{}, toolscache.Indexers{byKind: kindOf}},
	} {
		informer, err := c.GetInformer(ctx, watched.object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", resource, err)
		}
		renewing, ok := informer.(*renewingInformer)
		if !ok {
			return nil, fmt.Errorf("watching %s: the cache does not have the CacheOptions", resource)
		}
		if err := renewing.AddIndexers(watched.indexers); err != nil {
			return nil, fmt.Errorf("indexing %s: %w", resource, err)
		}
		f.informers[resource] = renewing
	}
	return f, nil
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
func (f *State) NamespaceMode(name string) (mode string, ok bool) {
	if !f.Ready() {
		return "", false
	}
	if namespace := f.namespace(name); namespace != nil {
		mode, ok = namespace.Annotations[optin.Annotation]
	}
	return mode, ok
}

// namespace returns a namespace as it is stored, nil if there is none.
func (f *State) namespace(name string) *metav1.PartialObjectMetadata {
	stored, _, _ := f.informers[namespaceResource].GetIndexer().GetByKey(name) // never fails
	namespace, _ := stored.(*metav1.PartialObjectMetadata)
	return namespace
}

// Scaler returns what is known about the scalers in a namespace that reference an object: HorizontalPodAutoscalers, and those
// of FollowScalers. The version of a reference is ignored.
func (f *State) Scaler(namespace, group, kind, name string) ownership.Scaler {
	if !f.Ready() {
		return ownership.Scaler{}
	}
	first, _ := scale.Choose(f.references(targetKey{namespace, schema.GroupKind{Group: group, Kind: kind}, name}))
	return ownership.Scaler{
		Name: first.Scaler, Desired: first.Desired, OffAtZero: first.OffAtZero, Readable: f.scalers.readable(),
	}
}

// references returns the references to an object.
func (f *State) references(key targetKey) (references []scale.Reference) {
	for _, s := range find(f.informers[hpaResource], key) {
		references = append(references, s.reference)
	}
	for rank, watch := range f.scalers.current().watches {
		if _, err := watch.informer.freshness.read(); apierrors.IsForbidden(err) && !watch.readable() {
			continue // nobody learns when they are deleted
		}
		for _, s := range find(watch.informer, key) {
			reference := s.reference
			reference.Rank = rank
			references = append(references, reference)
		}
	}
	return references
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
	if crd := f.definition(schema.GroupKind{Group: group, Kind: kind}); crd != nil {
		return scale.Declared(crd, version)
	}
	return nil
}

// definition returns the CustomResourceDefinition of a kind as it is stored, nil if there is none.
func (f *State) definition(kind schema.GroupKind) *apiextensionsv1.CustomResourceDefinition {
	stored, _ := f.informers[crdResource].GetIndexer().ByIndex(byKind, kind.String()) // never fails
	if len(stored) == 0 {
		return nil
	}
	crd, _ := stored[0].(*apiextensionsv1.CustomResourceDefinition)
	return crd
}
