package webhook

import (
	"errors"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

var errNotReady = errors.New("handoff has just started and does not know the cluster yet")

// Cluster is what the webhook has to know beyond a review.
type Cluster interface {
	merge.Cluster
	// Ready says whether the answers of the other methods are to be relied on.
	Ready() bool
	// NamespaceMode returns a namespace's mode annotation; ok is false where it has none.
	NamespaceMode(namespace string) (mode string, ok bool)
}

// outcome is what is decided for a review. The zero outcome lets the write through without a word.
type outcome struct {
	mode    ownership.Mode
	changes []change
	// notes are what is wrong with how namespace or object are annotated.
	notes []string
	// operations make the incoming object what it should be; none under warn.
	operations []jsonpatch.Operation
}

// change is a change as it is told to people.
type change struct {
	merge.Change

	secret bool // no word of the value to anybody
}

// evaluate has a review decided, as far as its mode allows.
func (h *Handler) evaluate(r *review) (out outcome, err error) {
	if !intercepted(r) {
		return outcome{}, nil
	}
	if !h.Cluster.Ready() {
		return outcome{}, errNotReady
	}
	if out.mode, out.notes = h.modeOf(r); out.mode == ownership.ModeOff {
		return outcome{}, nil
	}
	table := merge.Decider{Cluster: h.Cluster, Managers: h.Managers, Rules: h.Rules}
	decided, err := table.Decide(r.request())
	if err != nil {
		return out, err
	}
	if decided.Unread != nil {
		out.notes = append(out.notes, warningOf("", "annotation controller-fields: "+decided.Unread.Error(), ""))
	}
	secret := r.kind.Group == "" && r.kind.Kind == "Secret"
	for _, c := range decided.Changes {
		out.changes = append(out.changes, change{c, secret})
	}
	if out.mode == ownership.ModeEnforce {
		out.operations = decided.Operations
	}
	return out, nil
}

// intercepted is row 11 of the decision table, and what has nothing to decide on.
func intercepted(r *review) bool {
	wanted := r.operation == "CREATE" || r.operation == "UPDATE" && r.live.Present()
	return wanted && r.subResource == "" && r.incoming.Present()
}

func (r *review) request() merge.Request {
	request := merge.Request{
		Kind: r.kind, Namespace: r.namespace, Name: r.name, FieldManager: r.fieldManager, Live: r.live, Incoming: r.incoming,
		Meter: r.meter,
	}
	if r.operation == "CREATE" {
		request.Live = ownership.Object{}
	}
	return request
}
