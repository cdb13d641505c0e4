package cluster

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// reportInterval is the interval at which scalers are reported.
const reportInterval = time.Second

// ScalerOptions configure State.FollowScalers.
type ScalerOptions struct {
	// Kinds are the kinds of scalers besides HorizontalPodAutoscalers, in the order in which they are named if several reference
	// the same object.
	Kinds []scale.Kind
	// Client reads their objects.
	Client dynamic.Interface
	// Events records Events on scalers that scale nothing, and on those that scale the same object.
	Events events.EventRecorder
	Log    logr.Logger
}

// scalers watches the objects of the kinds whose CustomResourceDefinitions exist.
type scalers struct {
	options ScalerOptions

	state    *State
	managers []string                      // all managers of the kinds
	watches  []atomic.Pointer[scalerWatch] // by the position of the kind; nil if it is not installed
	known    atomic.Pointer[func() bool]   // reports whether all CustomResourceDefinitions are known
	ctx      context.Context               //nolint:containedctx // that of the function that FollowScalers returns: watches end with it
	reports  *reports
}

// FollowScalers makes the state know the objects of more kinds of scalers. The caller must call the returned function, which
// watches them until the context is done: a kind's objects while its CustomResourceDefinition exists. The state is not ready
// before they are listed, but a kind that cannot be listed does not delay it for more than a few seconds.
func (f *State) FollowScalers(o ScalerOptions) (run func(context.Context) error) {
	s := &scalers{options: o, state: f, watches: make([]atomic.Pointer[scalerWatch], len(o.Kinds))}
	s.reports = &reports{
		state: f, log: o.Log, events: o.Events,
		problems: map[types.UID]*scaler{}, targets: map[targetKey]bool{}, reported: map[targetKey]string{},
	}
	for i := range o.Kinds {
		s.managers = append(s.managers, o.Kinds[i].Managers...)
	}
	f.scalers = s
	return s.run
}

func (s *scalers) run(ctx context.Context) error {
	s.ctx = ctx
	known, err := s.state.informers[crdResource].AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    s.defined,
		UpdateFunc: func(_, now any) { s.defined(now) }, //nolint:contextcheck // s.ctx is this context
		DeleteFunc: s.undefined,
	})
	if err != nil {
		return fmt.Errorf("following CustomResourceDefinitions: %w", err)
	}
	if _, err := s.state.informers[hpaResource].AddEventHandler(s.reports.handler()); err != nil {
		return fmt.Errorf("following HorizontalPodAutoscalers: %w", err)
	}
	hasSynced := known.HasSynced
	s.known.Store(&hasSynced)
	wait.UntilWithContext(ctx, func(context.Context) { s.reports.report(s.running()) }, reportInterval)
	return nil
}

// defined starts to watch the objects of a kind whose CustomResourceDefinition has appeared, and watches another version if the
// one that is watched is no longer served.
func (s *scalers) defined(o any) {
	crd, rank := s.crdOf(o)
	if rank < 0 {
		return
	}
	resource, served := servedResource(crd)
	if watch := s.watches[rank].Load(); watch != nil && served && watch.resource == resource {
		return
	}
	s.stop(rank)
	if !served || s.ctx.Err() != nil {
		return
	}
	watch := newScalerWatch(s.options.Kinds[rank], rank, resource, s.options.Client, s.reports.handler())
	s.options.Log.Info("watching scalers, because their kind is installed", "resource", resource.GroupResource().String(),
		"version", resource.Version, "path", watch.kind.PathText())
	ctx, cancel := context.WithCancel(s.ctx)
	watch.started, watch.cancel = time.Now(), cancel
	go watch.informer.RunWithContext(ctx)
	s.watches[rank].Store(watch)
}

// undefined stops to watch the objects of a kind whose CustomResourceDefinition was deleted.
func (s *scalers) undefined(o any) {
	if _, rank := s.crdOf(lastKnown(o)); rank >= 0 {
		s.stop(rank)
	}
}

func (s *scalers) stop(rank int) {
	watch := s.watches[rank].Swap(nil)
	if watch == nil {
		return
	}
	watch.cancel()
	s.options.Log.Info("no longer watching scalers, because their kind is not served",
		"resource", watch.resource.GroupResource().String(), "version", watch.resource.Version)
}

// crdOf returns a CustomResourceDefinition and the position of its kind, -1 if it is not one of the kinds.
func (s *scalers) crdOf(o any) (crd *apiextensionsv1.CustomResourceDefinition, rank int) {
	crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil, -1
	}
	defined := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	return crd, slices.IndexFunc(s.options.Kinds, func(k scale.Kind) bool { return k.GroupKind == defined })
}

// running returns the watches in the order of the kinds.
func (s *scalers) running() iter.Seq[*scalerWatch] {
	return func(yield func(*scalerWatch) bool) {
		if s == nil {
			return
		}
		for rank := range s.watches {
			if watch := s.watches[rank].Load(); watch != nil && !yield(watch) {
				return
			}
		}
	}
}

// readable returns the managers whose scalers can be read, or do not exist because their kind is not installed.
func (s *scalers) readable() []string {
	if s == nil {
		return nil
	}
	var unreadable []string
	for watch := range s.running() {
		if !watch.readable() {
			unreadable = append(unreadable, watch.kind.Managers...)
		}
	}
	if len(unreadable) == 0 {
		return s.managers
	}
	return slices.DeleteFunc(slices.Clone(s.managers), func(manager string) bool { return slices.Contains(unreadable, manager) })
}

// missing returns the resources that are not listed yet, and delay readiness.
func (s *scalers) missing() (resources []string) {
	if s == nil {
		return nil
	}
	if known := s.known.Load(); known == nil || !(*known)() {
		return []string{"scalers"}
	}
	for watch := range s.running() {
		if !watch.settled() {
			resources = append(resources, watch.resource.GroupResource().String())
		}
	}
	return resources
}

// servedResource returns the resource of a CustomResourceDefinition in its storage version or else in the first that is served;
// ok is false if it is not served, or cluster-scoped.
func servedResource(crd *apiextensionsv1.CustomResourceDefinition) (resource schema.GroupVersionResource, ok bool) {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
		return resource, false
	}
	resource = schema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if version.Served && (resource.Version == "" || version.Storage) {
			resource.Version = version.Name
		}
	}
	return resource, resource.Version != ""
}
