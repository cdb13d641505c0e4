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
	for i, c := range out.decided.Changes {
		h.Metrics.decided(c, out.mode)
		if i < maxRecorded {
			h.Log.Info("decided", append(r.identity(),
				"decision", c.Decision.Name, "mode", out.mode, "verdict", c.Decision.Verdict,
				"detail", out.record(c))...)
		}
	}
	if more := len(out.decided.Changes) - maxRecorded; more > 0 {
		h.Log.Info("decided on more fields", append(r.identity(), "fields", more)...)
	}
	if skipped := out.decided.Skipped; skipped != nil {
		h.Metrics.skipped.WithLabelValues(reasonOf(skipped).label).Inc()
		h.Log.Error(skipped, "not decided on all fields", r.identity()...)
	}
	h.recordEvents(r.write, out)
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
