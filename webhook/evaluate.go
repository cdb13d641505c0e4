package webhook

import (
	"slices"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// evaluate decides on a review according to its mode.
func (h *Handler) evaluate(r *review) (out outcome, err error) {
	if !r.isIntercepted() {
		return outcome{}, nil
	}
	if kind := r.write.Kind; kind.Group == "" && kind.Kind == "Namespace" {
		return labelNamespace(r.write)
	}
	if !h.Cluster.Ready() {
		return outcome{}, errNotReady
	}
	if out.mode, out.notes = h.modeOf(r.write); out.mode == ownership.ModeOff {
		return outcome{}, nil
	}
	unguard, err := r.unguard()
	if err != nil {
		return out, err
	}
	settings := h.Settings()
	decider := merge.Decider{Cluster: h.Cluster, Managers: settings.Managers, Rules: settings.Rules}
	decided, err := decider.Decide(r.write)
	if err != nil {
		return out, err
	}
	if decided.InvalidPaths != nil {
		out.notes = append(out.notes, warningOf("", "annotation controller-fields: "+decided.InvalidPaths.Error(), ""))
	}
	if out.skipped = decided.Skipped; out.skipped != nil {
		out.notes = append(out.notes, warningOf(protocol.Skipped, reasonOf(out.skipped).text, ": only replicas were checked"))
	}
	isSecret := r.write.Kind.Group == "" && r.write.Kind.Kind == "Secret"
	for _, c := range decided.Changes {
		out.changes = append(out.changes, change{c, out.mode, isSecret})
	}
	if out.mode == ownership.ModeEnforce {
		out.operations = slices.Concat(unguard, decided.Operations)
	}
	return out, nil
}

// isIntercepted reports whether there can be anything to decide: row 11 of the decision table, and reviews without an object.
func (r *review) isIntercepted() bool {
	isWrite := r.operation == "CREATE" || r.operation == "UPDATE" && r.write.Live.Present()
	return isWrite && r.subResource == "" && r.write.Incoming.Present()
}
