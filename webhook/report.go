package webhook

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// EventRecorder records an Event on an object without waiting for it to be stored (k8s.io/client-go/tools/events).
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// report tells those who run handoff what was decided: metrics and the log for all, Events where the write is real.
func (h *Handler) report(r *review, out outcome) {
	h.Metrics.reviewed(out)
	for i, c := range out.changes {
		h.Metrics.decided(out.mode, c)
		if i < maxRecorded {
			h.Log.Info("decided", append(r.identity(),
				"row", c.Row, "mode", out.mode, "verdict", c.Verdict.String(), "decision", c.record(out.mode))...)
		}
	}
	if more := len(out.changes) - maxRecorded; more > 0 {
		h.Log.Info("decided on more fields likewise", append(r.identity(), "fields", more)...)
	}
	h.recordEvents(r, out)
	for _, note := range out.notes {
		h.Log.Info("noted", append(r.identity(), "note", note)...)
	}
}

func eventReason(c change, m ownership.Mode) string {
	switch {
	case c.Verdict == merge.Yield && m == ownership.ModeEnforce:
		return "OwnershipOverruled"
	case c.Verdict == merge.Yield:
		return "OwnershipWouldBeOverruled"
	case c.Verdict == merge.Clear && m == ownership.ModeEnforce:
		return "DefaultCleared"
	case c.Verdict == merge.Clear:
		return "DefaultWouldBeCleared"
	case m == ownership.ModeEnforce:
		return "OwnershipKept"
	default:
		return "OwnershipWouldBeKept"
	}
}

// identity names the object of a review for the log. Nothing else of an object is ever logged: it can hold secrets.
func (r *review) identity() []any {
	return []any{
		"uid", r.uid, "kind", r.kind.String(), "namespace", r.namespace, "name", r.name,
		"fieldManager", r.fieldManager, "dryRun", r.dryRun,
	}
}
