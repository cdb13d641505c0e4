package cluster

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// maxReports is the number of scalers that are reported per interval: users can create many.
const maxReports = 10

// reports are about the scalers of a state that their users should correct.
type reports struct {
	state  *State
	log    logr.Logger
	events events.EventRecorder // nil if no Events are recorded

	mutex    sync.Mutex
	problems map[types.UID]*scaler
	targets  map[targetKey]bool
	reported map[targetKey]string // the scalers that scale the same object, as they were last reported
}

// handler notes what an informer of scalers delivers.
func (r *reports) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { r.changed(nil, now) },
		UpdateFunc: r.changed,
		DeleteFunc: func(was any) { r.changed(was, nil) },
	}
}

// changed notes a new or deleted scaler, and one whose target or problem has changed.
func (r *reports) changed(was, now any) {
	old, _ := lastKnown(was).(*scaler)
	s, _ := now.(*scaler)
	if old != nil && s != nil && old.problem == s.problem && old.targets == s.targets && old.target() == s.target() {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, o := range []*scaler{old, s} {
		if o == nil {
			continue
		}
		delete(r.problems, o.UID)
		if o.targets {
			r.targets[o.target()] = true // which it may share, or have shared until now
		}
	}
	if s != nil && s.problem != "" {
		r.problems[s.UID] = s
	}
}

// take removes and returns the next notes.
func (r *reports) take() (problems []*scaler, targets []targetKey) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for uid, s := range r.problems {
		if len(problems) == maxReports {
			break
		}
		problems = append(problems, s)
		delete(r.problems, uid)
	}
	targets = slices.Collect(maps.Keys(r.targets))
	clear(r.targets)
	return problems, targets
}

// report logs kinds that can no longer be read, or can be read again, and reports scalers that their users should correct.
func (r *reports) report(watches iter.Seq[*scalerWatch]) {
	for watch := range watches {
		problem := watch.problem()
		if problem == watch.reported {
			continue
		}
		watch.reported = problem
		resource := watch.resource.GroupResource().String()
		if problem == "" {
			r.log.Info("scalers can be read again", "resource", resource)
			continue
		}
		r.log.Info("scalers cannot be read; their controller is known by its field managers only", "resource", resource,
			"fieldManagers", watch.kind.Managers, "reason", problem, "remedy", "allow list and watch on "+resource)
	}
	if !r.state.Ready() {
		return
	}
	problems, targets := r.take()
	for _, o := range problems {
		r.warn(o, "NoScaleTarget", o.problem+", so handoff keeps no replicas for it")
	}
	for _, key := range targets {
		r.reportRivals(key, watches)
	}
}

// reportRivals reports scalers that scale the same object.
func (r *reports) reportRivals(key targetKey, watches iter.Seq[*scalerWatch]) {
	rivals := strings.Join(scale.Rivals(r.state.references(key)), " and ")
	if r.reported[key] == rivals {
		return
	}
	r.reported[key] = rivals
	if rivals == "" {
		delete(r.reported, key)
		return
	}
	for watch := range watches {
		for _, o := range find(watch.informer, key) {
			r.warn(o, "SharedScaleTarget", rivals+" scale the same "+key.kind.Kind+"; delete all but one")
		}
	}
}

// warn logs a problem of a scaler, and records an Event on it if its namespace has opted in.
func (r *reports) warn(o *scaler, reason, note string) {
	r.log.Info("a scaler needs attention", "kind", o.Kind, "namespace", o.Namespace, "name", o.Name,
		"reason", reason, "note", note)
	if mode, _ := ownership.ModeOf(r.state.NamespaceMode(o.Namespace)); r.events == nil || mode == ownership.ModeOff {
		return
	}
	r.events.Eventf(&corev1.ObjectReference{
		APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
	}, nil, corev1.EventTypeWarning, reason, "Scale", "%s", note)
}
