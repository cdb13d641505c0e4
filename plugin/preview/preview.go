package preview

import (
	"context"
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Options are the options of the apply, as in the flags of kubectl apply.
type Options struct {
	ServerSide, ForceConflicts bool
	// FieldManager is the field manager of the apply, or "" for kubectl's default.
	FieldManager string
	// Validate is how to handle unknown fields: Strict, Warn or Ignore.
	Validate string
	// Managers and Rules come from the configuration.
	Managers ownership.Managers
	Rules    []ownership.Rule
}

// Preview is the predicted result of an apply to an object.
type Preview struct {
	source.Subject

	// Mode is the object's mode, or source.UnknownMode.
	Mode ownership.Mode
	// Without and With are the object after an apply, without and with handoff, as JSON. Without is nil if the API server
	// rejects that apply; Refused is then the reason.
	Without, With []byte
	Refused       string
	// Fields are the fields that handoff acts on, followed by all others that the apply changes.
	Fields []Field
	// Acts reports whether a dry run of the apply results in With; Tried whether there was such a dry run.
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

// Of predicts the apply of a manifest. The error starts with the name of the object; in most cases it is the API server's reason
// for rejecting the apply.
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
	decided, err := p.predict(ctx, t, merged)
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

// limits returns an error if the apply cannot be predicted, and notes gaps if it can be predicted only in part.
func (p *Preview) limits(t *trial) error {
	if t.options.ServerSide && t.Resource == nil {
		return errors.New("a server-side apply can only be previewed by the API server; omit --live or --server-side")
	}
	if t.Object.Present() && len(t.Object.ManagedFields()) == 0 {
		p.Gaps = append(p.Gaps, p.String()+": no managedFields, so the managers that set its fields are unknown; "+
			"export it with kubectl get -o yaml --show-managed-fields")
	}
	if t.options.ServerSide && t.appliedClientSide() {
		p.Gaps = append(p.Gaps, p.String()+": after earlier client-side applies, kubectl first moves their managedFields entries to "+
			"the server-side manager and then deletes fields that are missing from the manifest; a dry run does not show that")
	}
	return nil
}

// predict sets Without and With.
func (p *Preview) predict(ctx context.Context, t *trial, merged []byte) (merge.Outcome, error) {
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
	return decided, p.retryWithHandoff(ctx, t, refused, decided)
}

// decide returns handoff's decision on the incoming object, and sets With accordingly.
func (p *Preview) decide(t *trial, incoming []byte) (merge.Outcome, error) {
	if t.ClusterScoped { // the webhook does not review cluster-scoped objects
		p.With = incoming
		return merge.Outcome{}, nil
	}
	read, err := ownership.ParseObject(incoming)
	if err != nil {
		return merge.Outcome{}, err
	}
	table := merge.Decider{Cluster: subjectCluster{t.Subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err := table.Decide(merge.Request{
		Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, FieldManager: t.options.manager(), Live: t.Object, Incoming: read,
	})
	if err != nil {
		return decided, err
	}
	p.With, err = patched(incoming, decided.Operations)
	return decided, err
}

// retryWithHandoff checks that the API server accepts With after it has rejected Without: handoff can make an apply valid by
// clearing a default that conflicts with the manifest.
func (p *Preview) retryWithHandoff(ctx context.Context, t *trial, refused *refusal, decided merge.Outcome) (err error) {
	if len(decided.Operations) == 0 {
		return refused
	}
	p.With, err = t.tryBy(ctx, t.update, p.With, p.Mode != ownership.ModeOff)
	return err
}

// try sends a dry run of the unmodified apply, to check that the webhook is installed and produces With. If handoff is not in
// mode enforce, there is nothing to check.
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
		p.Acts, p.With = true, stored // the API server's result replaces the guess
		return nil
	}
	p.Acts, err = t.same(stored, p.With)
	return err
}

// Keeps reports whether an apply with handoff differs from one without.
func (p *Preview) Keeps() bool {
	for i := range p.Fields {
		if p.Fields[i].Decided != nil {
			return true
		}
	}
	return false
}
