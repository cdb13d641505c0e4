// Package preview shows what an apply would do to an object: the difference between two dry runs by the API server, with and
// without handoff. The reasons are the webhook's own warnings.
package preview

import (
	"context"
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
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
	Rules      ownership.Rules
	Configured bool
	// Installation reports in which mode handoff reviews an object.
	Installation *installation.Installation
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

// Preview is what an apply does to an object.
type Preview struct {
	// Subject is the live object, absent if the apply creates it.
	Subject source.Subject
	// Mode is the mode in the object's label or its namespace's annotation, or installation.Unknown.
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

	// keeps reports whether With differs from Without, tried whether the API server has said so, and labeled whether Mode is that
	// of the object's label.
	keeps, tried, labeled bool
	// reviewed reports whether handoff has answered a dry run of the object. unanswered is why the API server would not call it even
	// if it were enabled; both are empty if that is unknown.
	reviewed   bool
	unanswered string
}

// trial is an apply to preview.
type trial struct {
	preview     Preview
	application source.Application
	options     Options
	// live, without and with are the objects as they are shown.
	live, without, with *jsontree.Node
	// warnings are handoff's, in the dry run of With, and used are those that are the reason for a field.
	warnings []string
	used     map[string]bool
	// decided is the decision of this program on the object without handoff. It is the reason for the differences unless
	// warnings say otherwise. decidedHere reports whether With is its result, and not that of a dry run.
	decided     merge.Outcome
	decidedHere bool
}

// Of previews the apply of a manifest. The error starts with the name of the object; in most cases it is the API server's reason
// for rejecting the apply.
func Of(ctx context.Context, a source.Application, o Options) (Preview, error) {
	t := &trial{preview: Preview{Subject: a.Subject, tried: a.Resource != nil}, application: a, options: o, used: map[string]bool{}}
	err := t.compare(ctx)
	if err == nil {
		err = t.fill()
	}
	if err != nil {
		return t.preview, fmt.Errorf("%s: %w", a.Subject, err)
	}
	t.addGaps()
	return t.preview, nil
}

func (t *trial) compare(ctx context.Context) error {
	switch {
	case t.application.Manifest.GetResourceVersion() != "" && !t.preview.Subject.Object.Present(): // which a dry run does not show
		return errors.New(rejects + "metadata.resourceVersion must not be set on objects to be created; remove it from the manifest")
	case t.preview.tried:
		return t.dryRuns(ctx)
	case t.options.ServerSide:
		return errors.New("a server-side apply can only be previewed by the API server; omit --live or --server-side")
	default:
		return t.local(ctx)
	}
}

// addGaps adds gaps for the parts of an apply that a preview does not show.
func (t *trial) addGaps() {
	if !t.preview.tried && t.preview.Subject.Object.Present() && len(t.preview.Subject.Object.ManagedFields()) == 0 {
		t.gap("no managedFields, so the managers that set its fields are unknown; " +
			"export it with kubectl get -o yaml --show-managed-fields")
	}
	entries, _ := t.preview.Subject.Object.Entries() // the decision reports the error
	for _, e := range entries {
		if t.options.ServerSide && e.Manager == clientSideManager && e.Operation == ownership.OperationUpdate {
			t.gap("after earlier client-side applies, kubectl first moves their managedFields entries " +
				"to the server-side manager and then deletes fields that are missing from the manifest; a dry run does not show that")
			return
		}
	}
}

func (t *trial) gap(text string) {
	t.preview.Subject.Gaps = append(t.preview.Subject.Gaps[:len(t.preview.Subject.Gaps):len(t.preview.Subject.Gaps)], t.preview.Subject.String()+": "+text)
}
