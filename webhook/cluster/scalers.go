package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// followInterval is the interval at which changes of the configured kinds are noticed.
const followInterval = time.Second

// ScalerOptions configure State.FollowScalers.
type ScalerOptions struct {
	// Kinds returns the kinds of scalers besides HorizontalPodAutoscalers, in the order in which they are named if several reference
	// the same object. They may change.
	Kinds func() []scale.Kind
	// Client reads their objects.
	Client dynamic.Interface
	// Events records Events on scalers that scale nothing, and on those that scale the same object. It must limit them.
	Events events.EventRecorder
	Log    logr.Logger
}

// scalers watches the objects of the kinds whose CustomResourceDefinitions exist.
type scalers struct {
	options ScalerOptions
	state   *State
	reports reports
	started map[watchKey]*scalerWatch
	known   atomic.Pointer[watchedKinds] // nil until all CustomResourceDefinitions are known
}

// watchKey identifies a watch.
type watchKey struct {
	resource schema.GroupVersionResource
	path     string
}

// watchedKinds are the kinds of a configuration.
type watchedKinds struct {
	watches []*scalerWatch // of the kinds that are installed, in the order of the kinds
	absent  []string       // the managers of the others
}

// FollowScalers makes the state know the objects of more kinds of scalers. It must be called before the state is used. The caller
// must call the returned function, which watches them until the context is done: a kind's objects while its
// CustomResourceDefinition exists. The state is not ready before they are listed, but a kind that cannot be listed does not delay
// it for more than a few seconds.
func (f *State) FollowScalers(o ScalerOptions) (run func(context.Context) error) {
	f.scalers = &scalers{options: o, state: f, reports: reports{state: f, log: o.Log, events: o.Events}, started: map[watchKey]*scalerWatch{}}
	return f.scalers.run
}

func (s *scalers) run(ctx context.Context) error {
	crds, changed := s.state.informers[crdResource], make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // it is already pending
		}
	}
	if _, err := crds.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
	}); err != nil {
		return fmt.Errorf("following %s: %w", crdResource, err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), crds.HasSynced) {
		return nil
	}
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		s.follow(ctx)
		s.reports.report(s.current().watches)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-changed:
		}
	}
}

// follow watches the kinds that are configured and served now. It forgets others only when these are listed, so that every scaler
// of both stays known.
func (s *scalers) follow(ctx context.Context) {
	next := &watchedKinds{}
	for _, kind := range s.options.Kinds() {
		if resource, served := s.state.servedResource(kind.GroupKind); served {
			next.watches = append(next.watches, s.watch(ctx, kind, resource))
		} else {
			next.absent = append(next.absent, kind.Managers...)
		}
	}
	if s.known.Load() != nil && slices.ContainsFunc(next.watches, func(w *scalerWatch) bool { return !w.settled() }) {
		return
	}
	s.known.Store(next)
	for key, watch := range s.started {
		if !slices.Contains(next.watches, watch) {
			watch.cancel()
			delete(s.started, key)
			s.options.Log.Info("no longer watching scalers, because their kind is not served or not configured",
				"resource", watch.name(), "version", key.resource.Version)
		}
	}
}

// watch returns the watch of a kind, which it starts if there is none.
func (s *scalers) watch(ctx context.Context, kind scale.Kind, resource schema.GroupVersionResource) *scalerWatch {
	key := watchKey{resource, kind.PathText()}
	if s.started[key] == nil {
		watch := newScalerWatch(kind, resource, s.options.Client)
		s.options.Log.Info("watching scalers, because their kind is installed", "resource", watch.name(), "version", resource.Version,
			"path", key.path)
		ctx, watch.cancel = context.WithCancel(ctx)
		go watch.informer.RunWithContext(ctx)
		s.started[key] = watch
	}
	return s.started[key]
}

// current returns the kinds of the configuration that is followed now.
func (s *scalers) current() watchedKinds {
	if s == nil || s.known.Load() == nil {
		return watchedKinds{}
	}
	return *s.known.Load()
}

// readable returns the managers whose scalers can be read, or do not exist because their kind is not installed.
func (s *scalers) readable() (managers []string) {
	known := s.current()
	managers = slices.Clone(known.absent)
	for _, watch := range known.watches {
		if watch.readable() {
			managers = append(managers, watch.kind.Managers...)
		}
	}
	return managers
}

// missing returns the resources that are not listed yet, and delay readiness.
func (s *scalers) missing() (resources []string) {
	if s != nil && s.known.Load() == nil {
		return []string{"scalers"}
	}
	for _, watch := range s.current().watches {
		if !watch.settled() {
			resources = append(resources, watch.name())
		}
	}
	return resources
}

// servedResource returns the resource of a custom resource in its storage version or else in the first that is served; ok is false
// if it is not served, or cluster-scoped.
func (f *State) servedResource(kind schema.GroupKind) (resource schema.GroupVersionResource, ok bool) {
	crd := f.definition(kind)
	if crd == nil || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
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
