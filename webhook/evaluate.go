package webhook

import (
	"errors"
	"slices"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

var errNotReady = errors.New("the caches have not synced yet")

// Cluster is the cluster state that the webhook needs in addition to a review.
type Cluster interface {
	merge.Cluster
	// Ready reports whether the results of the other methods are complete.
	Ready() bool
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
	operations []jsonpatch.Operation
	// skipped is the error because of which only the scale field was decided; nil if all fields were.
	skipped error
}

// change is a decision on a field, with what its texts need.
type change struct {
	Change merge.Change

	secret bool // whether the value must not appear in any text
}

// evaluate decides on a review according to its mode.
func (h *Handler) evaluate(r *review) (out outcome, err error) {
	if !intercepted(r) {
		return outcome{}, nil
	}
	if r.isOfNamespace() {
		return labelNamespace(r)
	}
	if !h.Cluster.Ready() {
		return outcome{}, errNotReady
	}
	if out.mode, out.notes = h.modeOf(r); out.mode == ownership.ModeOff {
		return outcome{}, nil
	}
	unguard, err := r.unguard()
	if err != nil {
		return out, err
	}
	decider := merge.Decider{Cluster: h.Cluster, Managers: h.Managers, Rules: h.Rules}
	decided, err := decider.Decide(r.request())
	if err != nil {
		return out, err
	}
	if decided.InvalidPaths != nil {
		out.notes = append(out.notes, warningOf("", "annotation controller-fields: "+decided.InvalidPaths.Error(), ""))
	}
	if out.skipped = decided.Skipped; out.skipped != nil {
		out.notes = append(out.notes, warningOf("skipped, ", reasonOf(out.skipped).text, ": only replicas were checked"))
	}
	secret := r.kind.Group == "" && r.kind.Kind == "Secret"
	for _, c := range decided.Changes {
		out.changes = append(out.changes, change{c, secret})
	}
	if out.mode == ownership.ModeEnforce {
		out.operations = slices.Concat(unguard, decided.Operations)
	}
	return out, nil
}

// intercepted reports whether there can be anything to decide: row 11 of the decision table, and reviews without an object.
func intercepted(r *review) bool {
	wanted := r.operation == "CREATE" || r.operation == "UPDATE" && r.live.Present()
	return wanted && r.subResource == "" && r.incoming.Present()
}

func (r *review) request() merge.Request {
	request := merge.Request{
		Kind: r.kind, Namespace: r.namespace, Name: r.name, FieldManager: r.fieldManager, DryRun: r.dryRun,
		Live: r.live, Incoming: r.incoming,
		Meter: r.meter,
	}
	if r.operation == "CREATE" {
		request.Live = ownership.Object{}
	}
	return request
}
