package webhook

import (
	"errors"
	"slices"
	"time"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

var errNotReady = errors.New("the caches have not synced yet")

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

// outcome is the result of evaluating a review. The zero outcome allows the write unmodified, without warnings.
type outcome struct {
	mode    ownership.Mode
	changes []change
	// notes are warnings about the annotations of the namespace or the object, and about stale cluster state.
	notes []string
	// operations patch the incoming object; empty in mode warn.
	operations []merge.Operation
	// skipped is the error because of which only the scale field was decided; nil if all fields were.
	skipped error
}

// change is a decision on a field, with what its texts need.
type change struct {
	Change merge.Change

	mode   ownership.Mode
	secret bool // whether the value must not appear in any text
}

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
	decider := merge.Decider{Cluster: h.Cluster, Managers: h.Managers, Rules: h.Rules}
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
