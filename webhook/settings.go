package webhook

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// Settings are what the configuration says.
type Settings struct {
	Managers ownership.Managers
	Rules    ownership.Rules
	// Version is that of the program and of its configuration, for kubectl handoff doctor.
	Version string
}

// Handler answers AdmissionReviews (admission.k8s.io/v1), which package serving receives. Every response allows the write. All
// exported fields except Events and GuardMissing are required.
type Handler struct {
	Cluster Cluster
	// Settings returns the settings for the next review.
	Settings func() Settings
	Metrics  *Metrics
	Log      logr.Logger
	// Events records Events on the object about the decisions, except those that only warn; if nil, no Events are recorded. It must
	// limit them (LimitEvents).
	Events events.EventRecorder
	// GuardMissing reports whether no guard is installed. If it is nil, or does not know, the guard may be installed.
	GuardMissing func() bool

	shedding ratelimit.Log
}

// Cluster is the cluster state that the webhook needs in addition to a review.
type Cluster interface {
	merge.Cluster
	// Ready reports whether the results of the other methods are complete.
	Ready() bool
	// Stale reports whether they may be out of date, and since when.
	Stale() (since time.Time, stale bool)
	// NamespaceMode returns a namespace's mode annotation; ok is false if it has none.
	NamespaceMode(namespace string) (mode string, ok bool)
}
