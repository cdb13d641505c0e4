package cluster

import (
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/scale"
)

const (
	// reportInterval is the pause between two reports. Each looks up the target of every scaler.
	reportInterval = 10 * time.Second
	// maxReports is the number of scalers that a report is about: users can create many. The next one is about others.
	maxReports = 100
	// maxNote is the length to which a note is cut. The API server refuses Events with a longer one.
	maxNote = 1023
)

// reports are about the scalers of a state that their users should correct.
type reports struct {
	state  *State
	log    logr.Logger
	events events.EventRecorder // nil if no Events are recorded

	next     time.Time
	reported map[types.UID]string // what was reported about the scalers that still need attention
}

// report logs kinds that can no longer be read, or can be read again, and reports scalers that their users should correct.
func (r *reports) report(watches []*scalerWatch) {
	for _, watch := range watches {
		problem := watch.problem()
		if problem == watch.reported {
			continue
		}
		watch.reported = problem
		if problem == "" {
			r.log.Info("scalers can be read again", "resource", watch.name())
			continue
		}
		r.log.Info("scalers cannot be read; their controller is known by its field managers only", "resource", watch.name(),
			"fieldManagers", watch.kind.Managers, "reason", problem, "remedy", "allow list and watch on "+watch.name())
	}
	if now := time.Now(); r.state.Ready() && !now.Before(r.next) {
		r.next = now.Add(reportInterval)
		r.reportScalers(watches)
	}
}

// reportScalers reports what has not been reported before. It forgets the others.
func (r *reports) reportScalers(watches []*scalerWatch) {
	reported, shared, left := map[types.UID]string{}, map[targetKey]string{}, maxReports
	for _, watch := range watches {
		for _, o := range watch.informer.GetStore().List() {
			s, ok := o.(*scaler)
			if !ok {
				continue
			}
			reason, note := r.problemOf(s, shared)
			isNew := note != "" && r.reported[s.UID] != note
			if note == "" || isNew && left == 0 {
				continue
			}
			reported[s.UID] = note
			if isNew {
				left--
				r.warn(s, reason, note)
			}
		}
	}
	r.reported = reported
}

// problemOf returns what a user should correct, an empty note if there is nothing: a scaler without a target, or with one that
// others scale. It stores the note about each target in shared: any number of scalers can have the same.
func (r *reports) problemOf(s *scaler, shared map[targetKey]string) (reason, note string) {
	if s.problem != "" {
		return "NoScaleTarget", cut(s.problem + ", so handoff keeps no replicas for it")
	}
	if !s.targets {
		return "", ""
	}
	note, known := shared[s.target()]
	if !known {
		if rivals := scale.Rivals(r.state.references(s.target())); rivals != nil {
			note = cut("several scalers scale the same workload: " + printable.Some(rivals) + "; delete all but one")
		}
		shared[s.target()] = note
	}
	return "SharedScaleTarget", note
}

func cut(note string) string { return strings.ToValidUTF8(note[:min(len(note), maxNote)], "") }

// warn logs a problem of a scaler, and records an Event on it if its namespace has opted in.
func (r *reports) warn(o *scaler, reason, note string) {
	r.log.Info("a scaler needs attention", "kind", o.Kind, "namespace", o.Namespace, "name", o.Name,
		"reason", reason, "note", note)
	if mode, _ := optin.ModeOf(r.state.NamespaceMode(o.Namespace)); r.events == nil || mode == optin.Off {
		return
	}
	r.events.Eventf(&corev1.ObjectReference{
		APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
	}, nil, corev1.EventTypeWarning, reason, "Scale", "%s", note)
}
