package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	Subject source.Subject
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
	t := &trial{
		subject: a.Subject, manifest: a.Manifest, clusterScoped: a.ClusterScoped, namespaceMode: a.Mode, resource: a.Resource,
		options: o,
	}
	p, err := t.preview(ctx)
	if err != nil {
		return Preview{Subject: a.Subject}, fmt.Errorf("%s: %w", a.Subject, err)
	}
	return p, nil
}

func (t *trial) preview(ctx context.Context) (Preview, error) {
	if err := t.supported(); err != nil {
		return Preview{}, err
	}
	merged, err := t.merged()
	if err != nil {
		return Preview{}, err
	}
	mode, err := t.mode(merged)
	if err != nil {
		return Preview{}, err
	}
	predicted, err := t.predict(ctx, merged, mode)
	if err != nil {
		return Preview{}, err
	}
	checked, err := t.check(ctx, merged, mode, predicted)
	if err != nil {
		return Preview{}, err
	}
	predicted.with = checked.with
	fields, err := t.fields(predicted)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{
		Subject: t.subject, Mode: mode, Without: predicted.without, With: predicted.with, Refused: predicted.refused,
		Fields: fields, Acts: checked.acts, Tried: checked.tried,
	}
	p.Subject.Gaps = slices.Concat(p.Subject.Gaps, t.gaps())
	return p, nil
}

// supported returns an error if the apply cannot be predicted, or if the API server rejects it without looking at its fields.
func (t *trial) supported() error {
	if t.options.ServerSide && t.resource == nil {
		return errors.New("a server-side apply can only be previewed by the API server; omit --live or --server-side")
	}
	return t.stale()
}

// gaps describe the parts of an apply that are not predicted.
func (t *trial) gaps() (gaps []string) {
	if t.subject.Object.Present() && len(t.subject.Object.ManagedFields()) == 0 {
		gaps = append(gaps, t.subject.String()+": no managedFields, so the managers that set its fields are unknown; "+
			"export it with kubectl get -o yaml --show-managed-fields")
	}
	if t.options.ServerSide && t.appliedClientSide() {
		gaps = append(gaps, t.subject.String()+": after earlier client-side applies, kubectl first moves their managedFields entries "+
			"to the server-side manager and then deletes fields that are missing from the manifest; a dry run does not show that")
	}
	return gaps
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
