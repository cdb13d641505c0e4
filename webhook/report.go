package webhook

import (
	"fmt"
	"runtime/debug"
)

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
		h.Metrics.decided(c)
		if i < maxRecorded {
			h.Log.Info("decided", append(r.identity(),
				"decision", c.Change.Decision.Name, "mode", out.mode, "verdict", c.Change.Decision.Verdict.String(),
				"detail", c.record())...)
		}
	}
	if more := len(out.changes) - maxRecorded; more > 0 {
		h.Log.Info("decided on more fields", append(r.identity(), "fields", more)...)
	}
	if out.skipped != nil {
		h.Metrics.skipped.WithLabelValues(reasonOf(out.skipped).label).Inc()
		h.Log.Error(out.skipped, "decided on the scale field only: other fields were not modified", r.identity()...)
	}
	h.recordEvents(r.write, out.changes)
	for _, note := range out.notes {
		h.Log.Info("noted", append(r.identity(), "note", note)...)
	}
}

// identity returns what the log says of a review's object. Nothing else of an object is ever logged: it can contain secrets.
func (r *review) identity() []any {
	w := r.write
	return []any{
		"uid", r.uid, "kind", w.Kind.String(), "namespace", w.Namespace, "name", w.Name, "fieldManager", w.FieldManager, "dryRun", w.DryRun,
	}
}
