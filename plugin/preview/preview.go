package preview

import (
	"context"
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Options say how the manifests would be applied, as the flags of kubectl apply do.
type Options struct {
	ServerSide, ForceConflicts bool
	// FieldManager is the one that writes, empty for kubectl's own.
	FieldManager string
	// Validate is what becomes of fields that the API server does not know: Strict, Warn or Ignore.
	Validate string
	// Managers and Rules are those of the configuration.
	Managers ownership.Managers
	Rules    []ownership.Rule
}

// Preview is what an apply would do to an object.
type Preview struct {
	source.Subject

	// Mode is the one that holds for the object, or source.UnknownMode.
	Mode ownership.Mode
	// Without and With are the object after an apply, without handoff and with it, as JSON. Without is nil where the API server
	// would refuse it; Refused then says why.
	Without, With []byte
	Refused       string
	// Fields are those that the apply changes or handoff keeps, the latter first.
	Fields []Field
	// Acts says whether a dry run of the apply gives With; Tried whether one was made.
	Acts, Tried bool
}

// kubectl's field managers (k8s.io/kubectl/pkg/cmd/apply).
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

func (o Options) manager() string {
	switch {
	case o.FieldManager != "":
		return o.FieldManager
	case o.ServerSide:
		return serverSideManager
	default:
		return clientSideManager
	}
}

// Of foretells the apply of a manifest. The error names the object, and says what the API server says: that it would refuse
// the apply, above all.
func Of(ctx context.Context, a source.Application, o Options) (Preview, error) {
	p := Preview{Subject: a.Subject}
	t := &trial{Application: a, options: o}
	if err := p.of(ctx, t); err != nil {
		return p, fmt.Errorf("%s: %w", p.Subject, err)
	}
	return p, nil
}

func (p *Preview) of(ctx context.Context, t *trial) error {
	if err := p.limits(t); err != nil {
		return err
	}
	if err := t.stale(); err != nil {
		return err
	}
	merged, err := t.merged()
	if err != nil {
		return err
	}
	if p.Mode, err = t.mode(merged); err != nil {
		return err
	}
	decided, err := p.foretell(ctx, t, merged)
	if err != nil {
		return err
	}
	if len(decided.Changes) > 0 {
		if err := p.try(ctx, t, merged); err != nil {
			return err
		}
	}
	p.Fields, err = p.fields(t, decided.Changes)
	return err
}

// limits says what cannot be foretold, or not wholly.
func (p *Preview) limits(t *trial) error {
	if t.options.ServerSide && t.Resource == nil {
		return errors.New("what a server-side apply merges, the API server alone knows; leave out --live, or --server-side")
	}
	if t.Object.Present() && len(t.Object.ManagedFields()) == 0 {
		p.Gaps = append(p.Gaps, p.String()+": it has no managedFields, so that who else has set its fields is not known; "+
			"save it with kubectl get -o yaml --show-managed-fields")
	}
	if t.options.ServerSide && t.appliedClientSide() {
		p.Gaps = append(p.Gaps, p.String()+": kubectl moves the claims of earlier client-side applies to this one, and then deletes "+
			"what the manifest lacks of them, which no dry run shows")
	}
	return nil
}

// foretell makes Without and With.
func (p *Preview) foretell(ctx context.Context, t *trial, merged []byte) (merge.Outcome, error) {
	var refused *refusal
	incoming, err := t.without(ctx, merged, p.Mode)
	if err == nil {
		p.Without = incoming
		return p.decide(t, incoming)
	}
	if !errors.As(err, &refused) || !t.Object.Present() {
		return merge.Outcome{}, err
	}
	p.Refused = refused.Error()
	if incoming, err = t.guessed(merged); err != nil {
		return merge.Outcome{}, err
	}
	decided, err := p.decide(t, incoming)
	if err != nil {
		return decided, err
	}
	return decided, p.cure(ctx, t, refused, decided)
}

// decide asks what handoff makes of the incoming object, and makes With of it.
func (p *Preview) decide(t *trial, incoming []byte) (merge.Outcome, error) {
	if t.ClusterScoped { // which the webhook is never asked about
		p.With = incoming
		return merge.Outcome{}, nil
	}
	read, err := ownership.ParseObject(incoming)
	if err != nil {
		return merge.Outcome{}, err
	}
	table := merge.Decider{Cluster: around{t.Subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err := table.Decide(merge.Request{
		Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, FieldManager: t.options.manager(), Live: t.Object, Incoming: read,
	})
	if err != nil {
		return decided, err
	}
	p.With, err = patched(incoming, decided.Operations)
	return decided, err
}

// cure finds out whether the API server takes With where it refuses Without: a default that the manifest contradicts is
// cleared.
func (p *Preview) cure(ctx context.Context, t *trial, refused *refusal, decided merge.Outcome) (err error) {
	if len(decided.Operations) == 0 {
		return refused
	}
	p.With, err = t.tryBy(ctx, t.update, p.With, p.Mode != ownership.ModeOff)
	return err
}

// try makes a dry run of the apply as it would be made, to see whether the webhook does what With says: it may not be
// installed. Where it is not to do anything, there is nothing to see.
func (p *Preview) try(ctx context.Context, t *trial, merged []byte) error {
	if t.Resource == nil || p.Mode == ownership.ModeOff || p.Mode == ownership.ModeWarn {
		return nil
	}
	p.Tried = true
	stored, err := t.try(ctx, merged, false)
	var refused *refusal
	if errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		return err
	}
	if p.Refused != "" {
		p.Acts, p.With = true, stored // which is no guess
		return nil
	}
	p.Acts, err = t.same(stored, p.With)
	return err
}

// Keeps says whether an apply with handoff differs from one without.
func (p *Preview) Keeps() bool {
	for i := range p.Fields {
		if p.Fields[i].Decided != nil {
			return true
		}
	}
	return false
}
