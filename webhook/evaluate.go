package webhook

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// evaluate decides on a review according to its mode.
func (h *Handler) evaluate(r *review) (out outcome, err error) {
	// Row 11 of the decision table, and reviews without an object: there is nothing to decide.
	isWrite := r.operation == "CREATE" || r.operation == "UPDATE" && r.write.Live.Present()
	if !isWrite || r.subResource != "" || !r.write.Incoming.Present() {
		return outcome{}, nil
	}
	if r.write.Kind.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		return labelNamespace(r.write)
	}
	if !h.Cluster.Ready() {
		return outcome{}, errNotReady
	}
	if out.mode, out.notes = h.modeOf(r.write); out.mode == optin.Off {
		return outcome{}, nil
	}
	unguard, err := r.unguard()
	if err != nil {
		return out, err
	}
	r.write.Incoming = r.write.Incoming.Sharing(r.write.Live)
	settings := h.Settings()
	decider := merge.Decider{Cluster: h.Cluster, Managers: settings.Managers, Rules: settings.Rules}
	if out.decided, err = decider.Decide(r.write); err != nil {
		return out, err
	}
	if invalid := out.decided.InvalidPaths; invalid != nil {
		out.notes = append(out.notes, warningOf("", "annotation controller-fields: "+invalid.Error(), ""))
	}
	if skipped := out.decided.Skipped; skipped != nil {
		checked := ": only replicas were checked"
		if errors.Is(skipped, ownership.ErrLastApplied) {
			checked = ": only replicas and fields of rules were checked"
		}
		out.notes = append(out.notes, warningOf(protocol.Skipped, reasonOf(skipped).text, checked))
	}
	out.secret = r.write.Kind.GroupKind() == apitypes.SecretKind
	out.decided.Operations = slices.Concat(unguard, out.decided.Operations)
	if out.mode != optin.Enforce {
		out.decided.Operations = nil
	}
	return out, nil
}
