package preview

import (
	"context"
	"errors"
	"fmt"

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
	// Managers and Rules come from the configuration. Configured reports whether the user has given one: where handoff is not on,
	// it decides what handoff would keep. Otherwise the configuration of the cluster's webhook does.
	Managers   ownership.Managers
	Rules      []ownership.Rule
	Configured bool
}

// Preview is what an apply does to an object.
type Preview struct {
	Subject source.Subject
	// Mode is the object's mode, or source.UnknownMode.
	Mode ownership.Mode
	// Without and With are the object after an apply, without and with handoff, as JSON. Without is nil if the API server rejects
	// that apply; Refused is then the reason. It is also nil if it is unknown, which is a gap of the subject.
	Without, With []byte
	Refused       string
	// Acts reports whether handoff is on: an apply now results in With, and otherwise in Without.
	Acts bool
	// Fields are the fields that handoff acts on, followed by all others that the apply changes.
	Fields []Field
	// Warnings are handoff's own, about anything but these fields.
	Warnings []string

	// keeps reports whether With differs from Without, tried whether the API server has said so.
	// labeled reports whether Mode is that of the object's label.
	keeps, tried, labeled bool
	reviewed              reviewed
}

// reviewed is whether the API server calls handoff for the object if it has the mode label.
type reviewed int

const (
	notKnown reviewed = iota
	isReviewed
	isNotReviewed
)

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

// Of previews the apply of a manifest. The error starts with the name of the object; in most cases it is the API server's reason
// for rejecting the apply.
func Of(ctx context.Context, a source.Application, o Options) (Preview, error) {
	t := &trial{application: a, subject: a.Subject, options: o}
	p, err := t.preview(ctx)
	if err != nil {
		return Preview{Subject: a.Subject}, fmt.Errorf("%s: %w", a.Subject, err)
	}
	return p, nil
}

// Keeps reports whether an apply with handoff differs from one without.
func (p *Preview) Keeps() bool { return p.keeps }

// trial is an apply to preview.
type trial struct {
	application source.Application
	// subject is the live object, absent if the apply creates it.
	subject source.Subject
	options Options
}

func (t *trial) preview(ctx context.Context) (Preview, error) {
	if t.options.ServerSide && t.application.Resource == nil {
		return Preview{}, errors.New("a server-side apply can only be previewed by the API server; omit --live or --server-side")
	}
	if err := t.stale(); err != nil {
		return Preview{}, err
	}
	compare := t.dryRuns
	if t.application.Resource == nil {
		compare = t.local
	}
	c, err := compare(ctx)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{
		Subject: t.subject, Mode: c.mode, Without: c.without, With: c.with, Refused: c.refused, Acts: c.acts,
		reviewed: c.reviewed, labeled: c.labeled, tried: t.application.Resource != nil,
	}
	if err := t.fill(&p, c); err != nil {
		return Preview{}, err
	}
	p.Subject.Gaps = append(p.Subject.Gaps[:len(p.Subject.Gaps):len(p.Subject.Gaps)], append(t.gaps(), c.gaps...)...)
	return p, nil
}

// gaps describe the parts of an apply that a preview does not show.
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

// appliedClientSide reports whether kubectl has applied the object client-side before.
func (t *trial) appliedClientSide() bool {
	entries, err := t.subject.Object.Entries()
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Manager == clientSideManager && e.Operation == ownership.OperationUpdate {
			return true
		}
	}
	return false
}
