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

const (
	// reportInterval is the interval at which scalers are reported, and changes of their kinds noticed.
	reportInterval = time.Second
	// settleInterval is the interval at which new kinds are asked whether their objects are listed.
	settleInterval = 50 * time.Millisecond
)

// ScalerOptions configure State.FollowScalers.
type ScalerOptions struct {
	// Kinds returns the kinds of scalers besides HorizontalPodAutoscalers, in the order in which they are named if several reference
	// the same object. They may change.
	Kinds func() []scale.Kind
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
	kinds    []scale.Kind
	managers []string                      // all managers of the kinds
	watches  []atomic.Pointer[scalerWatch] // by the position of the kind; nil if it is not installed
	known    atomic.Pointer[func() bool]   // reports whether all CustomResourceDefinitions are known
	ctx      context.Context               //nolint:containedctx // that of start: watches end with it
	reports  *reports
}

// FollowScalers makes the state know the objects of more kinds of scalers. The caller must call the returned function, which
// watches them until the context is done: a kind's objects while its CustomResourceDefinition exists. The state is not ready
// before they are listed, but a kind that cannot be listed does not delay it for more than a few seconds.
func (f *State) FollowScalers(o ScalerOptions) (run func(context.Context) error) {
	first := f.scalersOf(o, o.Kinds())
	f.scalers.Store(first)
	return first.run
}

func (f *State) scalersOf(o ScalerOptions, kinds []scale.Kind) *scalers {
	s := &scalers{options: o, state: f, kinds: kinds, watches: make([]atomic.Pointer[scalerWatch], len(kinds))}
	s.reports = &reports{
		state: f, log: o.Log, events: o.Events,
		problems: map[types.UID]*scaler{}, targets: map[targetKey]bool{}, reported: map[targetKey]string{},
	}
	for i := range kinds {
		s.managers = append(s.managers, kinds[i].Managers...)
	}
	return s
}

// run watches the kinds until the context is done. If they change, it watches the new ones before it forgets the others, so that
// every scaler of both stays known.
func (s *scalers) run(ctx context.Context) error {
	stop, err := s.start(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for current := s; ; {
		current.reports.report(current.running())
		if kinds := s.options.Kinds(); !slices.EqualFunc(kinds, current.kinds, sameKind) {
			next := s.state.scalersOf(s.options, kinds)
			stopNext, err := next.start(ctx)
			if err != nil {
				return err
			}
			_ = wait.PollUntilContextCancel(ctx, settleInterval, true, func(context.Context) (bool, error) {
				return len(next.missing()) == 0, nil
			}) // the error is the context's
			s.state.scalers.Store(next)
			stop()
			current, stop = next, stopNext
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func sameKind(a, b scale.Kind) bool {
	return a.GroupKind == b.GroupKind && a.PathText() == b.PathText()
}

// start watches the kinds until the context is done or stop is called.
func (s *scalers) start(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	s.ctx = ctx
	stop = cancel
	for _, watched := range []struct {
		resource string
		handler  toolscache.ResourceEventHandler
	}{
		{hpaResource, s.reports.handler()},
		{crdResource, toolscache.ResourceEventHandlerFuncs{
			AddFunc:    s.defined,
			UpdateFunc: func(_, now any) { s.defined(now) }, //nolint:contextcheck // s.ctx is this context
			DeleteFunc: s.undefined,
		}},
	} {
		informer, before := s.state.informers[watched.resource], stop
		registered, err := informer.AddEventHandler(watched.handler)
		if err != nil {
			before()
			return before, fmt.Errorf("following %s: %w", watched.resource, err)
		}
		stop = func() { before(); _ = informer.RemoveEventHandler(registered) } // it only fails for one of another informer
		hasSynced := registered.HasSynced
		s.known.Store(&hasSynced) // that of CustomResourceDefinitions, the last
	}
	return stop, nil
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
	watch := newScalerWatch(s.kinds[rank], rank, resource, s.options.Client, s.reports.handler())
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
	return crd, slices.IndexFunc(s.kinds, func(k scale.Kind) bool { return k.GroupKind == defined })
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
