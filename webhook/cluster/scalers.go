package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// EventRecorder records an Event on an object without waiting for it to be stored (k8s.io/client-go/tools/events).
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// ScalerOptions configure State.FollowScalers.
type ScalerOptions struct {
	// Kinds are the kinds of scalers besides HorizontalPodAutoscalers, in the order in which they are named if several reference
	// the same object. CacheOptions must have been called with the same kinds.
	Kinds []scale.Kind
	// Client reads their objects.
	Client dynamic.Interface
	// Events records Events on scalers that scale nothing, and on those that scale the same object.
	Events EventRecorder
	Log    logr.Logger
}

// scalers watches the objects of the kinds whose CustomResourceDefinitions exist.
type scalers struct {
	options ScalerOptions

	state    *State
	managers []string // all managers of the kinds
	mutex    sync.RWMutex
	ctx      context.Context //nolint:containedctx // that of the function that FollowScalers returns: watches end with it
	known    toolscache.ResourceEventHandlerRegistration
	watches  []*scalerWatch // in the order of the kinds
	reports  reports
}

// FollowScalers makes the state know the objects of more kinds of scalers. The caller must call the returned function, which
// watches them until the context is done: a kind's objects while its CustomResourceDefinition exists. The state is not ready
// before they are listed, but a kind that cannot be listed does not delay it for more than a few seconds.
func (f *State) FollowScalers(o ScalerOptions) (run func(context.Context) error) {
	s := &scalers{options: o, state: f, reports: newReports()}
	for i := range o.Kinds {
		s.managers = append(s.managers, o.Kinds[i].Managers...)
	}
	f.scalers = s
	return s.run
}

const (
	crdResource = "customresourcedefinitions.apiextensions.k8s.io"
	hpaResource = "horizontalpodautoscalers.autoscaling"
)

func (s *scalers) run(ctx context.Context) error {
	s.mutex.Lock()
	s.ctx = ctx
	s.mutex.Unlock()
	known, err := s.state.informers[crdResource].AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    s.defined,
		UpdateFunc: func(_, now any) { s.defined(now) },
		DeleteFunc: s.undefined,
	})
	if err != nil {
		return fmt.Errorf("following CustomResourceDefinitions: %w", err)
	}
	if _, err := s.state.informers[hpaResource].AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { s.reports.changed(nil, now) },
		UpdateFunc: s.reports.changed,
		DeleteFunc: s.reports.deleted,
	}); err != nil {
		return fmt.Errorf("following HorizontalPodAutoscalers: %w", err)
	}
	s.mutex.Lock()
	s.known = known
	s.mutex.Unlock()
	for ticks := time.NewTicker(reportInterval); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return nil
		case <-ticks.C:
			s.report() //nolint:contextcheck // it reads from caches only
		}
	}
}

// defined starts to watch the objects of a kind whose CustomResourceDefinition has appeared, and watches another version if the
// one that is watched is no longer served.
func (s *scalers) defined(o any) {
	crd, rank := s.crdOf(o)
	if rank < 0 {
		return
	}
	resource, served := servedResource(crd)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if at := s.find(rank); at >= 0 {
		if served && s.watches[at].resource == resource {
			return
		}
		s.stop(at)
	}
	if !served || s.ctx.Err() != nil {
		return
	}
	watch := newScalerWatch(s.options.Kinds[rank], rank, resource, s.options.Client, &s.reports)
	s.watches = append(slices.Clone(s.watches), watch)
	slices.SortFunc(s.watches, func(a, b *scalerWatch) int { return a.rank - b.rank })
	s.options.Log.Info("watching scalers, because their kind is installed", "resource", resource.GroupResource().String(),
		"version", resource.Version, "path", watch.kind.PathText())
	watch.start(s.ctx)
}

// undefined stops to watch the objects of a kind whose CustomResourceDefinition was deleted.
func (s *scalers) undefined(o any) {
	if unknown, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	_, rank := s.crdOf(o)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if at := s.find(rank); at >= 0 {
		s.stop(at)
	}
}

// crdOf returns a CustomResourceDefinition and the position of its kind, -1 if it is not one of the kinds.
func (s *scalers) crdOf(o any) (crd *apiextensionsv1.CustomResourceDefinition, rank int) {
	crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil, -1
	}
	return crd, rankOf(crd, s.options.Kinds)
}

// rankOf returns the position of the kind that a CustomResourceDefinition defines, -1 if it is not one of the kinds.
func rankOf(crd *apiextensionsv1.CustomResourceDefinition, kinds []scale.Kind) int {
	return slices.IndexFunc(kinds, func(k scale.Kind) bool {
		return k.GroupKind.Group == crd.Spec.Group && k.GroupKind.Kind == crd.Spec.Names.Kind
	})
}

func (s *scalers) find(rank int) int {
	return slices.IndexFunc(s.watches, func(w *scalerWatch) bool { return w.rank == rank })
}

// stop stops a watch. The slice is replaced: readers use it without the mutex.
func (s *scalers) stop(at int) {
	watch := s.watches[at]
	watch.cancel()
	s.watches = slices.Delete(slices.Clone(s.watches), at, at+1)
	s.options.Log.Info("no longer watching scalers, because their kind is not served",
		"resource", watch.resource.GroupResource().String(),
		"version", watch.resource.Version)
}

func (s *scalers) running() []*scalerWatch {
	if s == nil {
		return nil
	}
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.watches
}

// references returns the references to an object.
func (s *scalers) references(key targetKey) (found []scale.Reference) {
	for _, watch := range s.running() {
		found = append(found, references(watch.informer.GetIndexer(), key)...)
	}
	return found
}

// readable returns the managers whose scalers can be read, or do not exist because their kind is not installed.
func (s *scalers) readable() []string {
	if s == nil {
		return nil
	}
	var unreadable []string
	for _, watch := range s.running() {
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
	s.mutex.RLock()
	known := s.known
	s.mutex.RUnlock()
	if known == nil || !known.HasSynced() {
		return []string{"scalers"}
	}
	for _, watch := range s.running() {
		if !watch.settled() {
			resources = append(resources, watch.resource.GroupResource().String())
		}
	}
	return resources
}

// servedResource returns the resource of a CustomResourceDefinition in its storage version or else in the first that is served;
// ok is false if it is not served, or cluster-scoped.
func servedResource(crd *apiextensionsv1.CustomResourceDefinition) (resource schema.GroupVersionResource, ok bool) {
	established := slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	if !established || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
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
