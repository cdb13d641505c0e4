package webhook

import (
	"fmt"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// EventRecorder records an Event on an object without waiting for it to be stored (k8s.io/client-go/tools/events).
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// report records the decisions in metrics and in the log and, unless the write is a dry run, as Events. A panic in it does not change
// the answer.
func (h *Handler) report(r *review, out outcome) {
	defer func() {
		if p := recover(); p != nil {
			h.Log.Error(errPanic, "recovered from a panic while reporting", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	h.Metrics.reviewed(out)
	for i, c := range out.changes {
		h.Metrics.decided(out.mode, c)
		if i < maxRecorded {
			h.Log.Info("decided", append(r.identity(),
				"decision", c.Change.Decision.Name, "mode", out.mode, "verdict", c.Change.Decision.Verdict.String(),
				"detail", c.record(out.mode))...)
		}
	}
	if more := len(out.changes) - maxRecorded; more > 0 {
		h.Log.Info("decided on more fields", append(r.identity(), "fields", more)...)
	}
	if out.skipped != nil {
		h.Metrics.skippedFields(reasonOf(out.skipped).label)
		h.Log.Error(out.skipped, "decided on the scale field only: other fields were not modified", r.identity()...)
	}
	h.recordEvents(r, out)
	for _, note := range out.notes {
		h.Log.Info("noted", append(r.identity(), "note", note)...)
	}
}

func eventReason(c change, m ownership.Mode) string {
	switch {
	case c.Change.Decision.Verdict == merge.ManifestWins && m == ownership.ModeEnforce:
		return "OwnershipOverruled"
	case c.Change.Decision.Verdict == merge.ManifestWins:
		return "OwnershipWouldBeOverruled"
	case c.Change.Decision.Verdict == merge.Clear && m == ownership.ModeEnforce:
		return "DefaultCleared"
	case c.Change.Decision.Verdict == merge.Clear:
		return "DefaultWouldBeCleared"
	case m == ownership.ModeEnforce:
		return "OwnershipKept"
	default:
		return "OwnershipWouldBeKept"
	}
}

// identity returns what the log says of a review's object. Nothing else of an object is ever logged: it can contain secrets.
func (r *review) identity() []any {
	const more = 8 // what a caller appends
	return append(make([]any, 0, 12+more),
		"uid", r.uid, "kind", r.kind.String(), "namespace", r.namespace, "name", r.name,
		"fieldManager", r.fieldManager, "dryRun", r.dryRun)
}
