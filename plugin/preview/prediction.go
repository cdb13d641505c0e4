package preview

import (
	"context"
	"errors"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// prediction is an object after an apply, without and with handoff.
type prediction struct {
	// without is nil if the API server rejects the apply without handoff; refused is then the reason.
	without, with []byte
	refused       string
	// decided is handoff's decision on the apply.
	decided merge.Outcome
}

// predict predicts the apply of merged: without handoff by a dry run, with handoff by a decision on the result of that dry run.
func (t *trial) predict(ctx context.Context, merged []byte, mode ownership.Mode) (prediction, error) {
	without, err := t.without(ctx, merged, mode)
	if err == nil {
		p, err := t.decide(without)
		p.without = without
		return p, err
	}
	var refused *refusal
	if errors.As(err, &refused) && t.subject.Object.Present() {
		return t.predictRefused(ctx, merged, mode, refused)
	}
	return prediction{}, err
}

// predictRefused predicts an apply that the API server rejects without handoff. handoff can make it valid by clearing a default
// that conflicts with the manifest; a second dry run checks that.
func (t *trial) predictRefused(ctx context.Context, merged []byte, mode ownership.Mode, refused *refusal) (prediction, error) {
	incoming, err := t.guessed(merged)
	if err != nil {
		return prediction{}, err
	}
	p, err := t.decide(incoming)
	if err != nil {
		return prediction{}, err
	}
	if len(p.decided.Operations) == 0 {
		return prediction{}, refused
	}
	p.refused = refused.Error()
	p.with, err = t.tryBy(ctx, t.update, p.with, without(mode))
	return p, err
}

// decide returns handoff's decision on the incoming object, and the object after it.
func (t *trial) decide(incoming []byte) (prediction, error) {
	if t.clusterScoped { // the webhook does not review cluster-scoped objects
		return prediction{with: incoming}, nil
	}
	read, err := ownership.ParseObject(incoming)
	if err != nil {
		return prediction{}, err
	}
	table := merge.Decider{Cluster: subjectCluster{t.subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err := table.Decide(merge.Request{
		Kind: t.subject.Kind, Namespace: t.subject.Namespace, Name: t.subject.Name, FieldManager: t.options.manager(),
		Live: t.subject.Object, Incoming: read,
	})
	if err != nil {
		return prediction{}, err
	}
	with, err := patched(incoming, decided.Operations)
	return prediction{with: with, decided: decided}, err
}

// check is the result of a dry run of the unmodified apply.
type check struct {
	// with is the object with handoff: as predicted or, if the prediction was an approximation, as the dry run returns it.
	with []byte
	// tried reports whether there was a dry run, acts whether its result is with: the webhook is installed.
	tried, acts bool
}

// check sends a dry run of the unmodified apply, to check that the webhook is installed and acts as predicted. If handoff keeps
// nothing, or is not in mode enforce, there is nothing to check.
func (t *trial) check(ctx context.Context, merged []byte, mode ownership.Mode, p prediction) (check, error) {
	off := mode == ownership.ModeOff || mode == ownership.ModeWarn
	if len(p.decided.Changes) == 0 || t.resource == nil || off {
		return check{with: p.with}, nil
	}
	stored, err := t.try(ctx, merged, reviewed)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return check{with: p.with, tried: true}, nil
	case err != nil:
		return check{}, err
	case p.refused != "":
		return check{with: stored, tried: true, acts: true}, nil
	}
	acts, err := t.same(stored, p.with)
	return check{with: p.with, tried: true, acts: acts}, err
}
