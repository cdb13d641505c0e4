// Package preview shows what an apply would do to an object: the difference between two dry runs by the API server, with and
// without handoff. The reasons are the webhook's own warnings.
package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
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

// Preview is what an apply does to an object, without the contents of a Secret.
type Preview struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Object     explain.ObjectData `json:"object"`
	// Creates reports whether the apply creates the object.
	Creates bool `json:"creates,omitempty"`
	// Mode is the mode in the object's label or its namespace's annotation, or installation.Unknown.
	Mode ownership.Mode `json:"mode"`
	// Keeps reports whether an apply with handoff differs from one without.
	Keeps bool `json:"keeps"`
	// Acts reports whether handoff is on: an apply now results in With, and otherwise in Without. State is why handoff does not do
	// what it would, and how to enable it.
	Acts  bool   `json:"acts,omitempty"`
	State string `json:"state,omitempty"`
	// Refused is the API server's reason for rejecting an apply without handoff.
	Refused string `json:"refused,omitempty"`
	// Fields are the fields that handoff acts on, followed by all others that the apply changes.
	Fields []Field `json:"fields"`
	// Warnings are handoff's own, about anything but these fields.
	Warnings []string `json:"warnings,omitempty"`
	// Gaps describe what is unknown; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`

	// Subject is the live object, absent if the apply creates it.
	Subject source.Subject `json:"-"`
	// Without and With are the object after an apply, without and with handoff, as JSON. Without is nil if the API server rejects
	// that apply, or if it is unknown, which is a gap.
	Without []byte `json:"-"`
	With    []byte `json:"-"`
}

// trial is an apply to preview.
type trial struct {
	preview     Preview
	application source.Application
	options     Options
	// live, without and with are the objects as they are shown.
	live, without, with *jsontree.Node
	// after is the object after the apply, as it is.
	after installation.Object
	// warnings are those about With, and used are those that are the reason for a field. isLocal reports whether this program has
	// decided, and not the webhook.
	warnings []string
	used     map[string]bool
	isLocal  bool
}

// Of previews the apply of a manifest. The error starts with the name of the object; in most cases it is the API server's reason
// for rejecting the apply.
func Of(ctx context.Context, a source.Application, o Options) (Preview, error) {
	t := &trial{application: a, options: o, used: map[string]bool{}, preview: Preview{
		APIVersion: explain.APIVersion, Kind: "Preview", Object: explain.ObjectOf(a.Subject), Creates: !a.Subject.Object.Present(),
		Fields: []Field{}, Gaps: a.Subject.Gaps, Subject: a.Subject,
	}}
	err := t.compare(ctx)
	if err == nil {
		err = t.fill()
	}
	if err != nil {
		return t.preview, fmt.Errorf("%s: %w", a.Subject, err)
	}
	if t.preview.Keeps && !t.preview.Acts {
		t.preview.State = t.state(ctx)
	}
	t.addGaps()
	return t.preview, nil
}

func (t *trial) compare(ctx context.Context) error {
	switch {
	case t.application.Manifest.GetResourceVersion() != "" && t.preview.Creates: // which a dry run does not show
		return errors.New(rejects + "metadata.resourceVersion must not be set on objects to be created; remove it from the manifest")
	case t.isOnline():
		return t.dryRuns(ctx)
	case t.options.ServerSide:
		return errors.New("a server-side apply can only be previewed by the API server; omit --live or --server-side")
	default:
		return t.local(ctx)
	}
}

// isOnline reports whether the API server previews the apply.
func (t *trial) isOnline() bool { return t.application.Resource != nil }

// dryRuns compares two dry runs of the apply. The first is the apply as it is. If handoff has answered it, the other is the one
// with the mode label off, otherwise the one with the mode label enforce.
func (t *trial) dryRuns(ctx context.Context) error {
	now, err := t.send(ctx, "")
	var refused *refusal
	if errors.As(err, &refused) && !t.preview.Creates && t.isReviewable() {
		// Handoff can make it valid by clearing a default that conflicts with the manifest.
		if on, err := t.send(ctx, string(ownership.ModeEnforce)); err == nil && on.answered {
			t.preview.Refused, t.preview.With, t.warnings = refused.Error(), on.text, on.warnings
			return t.setMode(ctx)
		}
	}
	if err != nil {
		return err
	}
	t.preview.Without, t.preview.With, t.warnings = now.text, now.text, now.warnings
	if err := t.setMode(ctx); err != nil || now.unsent || !t.isReviewable() {
		return err
	}
	if now.answered {
		if err := t.turnOff(ctx); err != nil || t.preview.Acts || t.preview.Mode == ownership.ModeEnforce && !t.options.Configured {
			return err
		}
	}
	return t.turnOn(ctx)
}

// isReviewable reports whether handoff can review the object: any in a namespace, and others of some kinds.
func (t *trial) isReviewable() bool {
	return !t.isOnline() || t.preview.Subject.Namespace != "" || t.options.Installation.Selectable(t.preview.Subject.Kind)
}

// turnOff determines the result without handoff, which has answered the apply.
func (t *trial) turnOff(ctx context.Context) error {
	off, err := t.send(ctx, string(ownership.ModeOff))
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		t.preview.Refused = refused.Error()
	case err != nil:
		t.gap("unknown what the apply does without handoff, because the label " + ownership.ModeLabel +
			"=off, which that dry run needs on the object, is rejected: " + err.Error())
	default:
		t.preview.Without = off.text
		different, err := t.differences()
		if t.preview.Acts = len(different) > 0; !t.preview.Acts {
			t.preview.Without = t.preview.With
		}
		return err
	}
	t.preview.Acts, t.preview.Without = true, nil
	return nil
}

// turnOn determines what handoff would keep where it does not: by a dry run with the mode label enforce or, if the API server does not
// call handoff even then, or the user has given a configuration, by the decision of this program.
func (t *trial) turnOn(ctx context.Context) error {
	isSilent := t.preview.Mode == ownership.ModeEnforce
	if !t.options.Configured && !isSilent {
		on, err := t.send(ctx, string(ownership.ModeEnforce))
		if err == nil && on.answered {
			t.preview.With, t.warnings = on.text, on.warnings
			return nil
		}
		isSilent = err == nil
	}
	with, warnings, err := t.decide(t.preview.Without)
	if len(warnings) > 0 && isSilent && !t.options.Configured && t.enabled(ctx).On() {
		return nil // handoff keeps nothing: its configuration is another
	}
	t.preview.With, t.warnings, t.isLocal = with, warnings, true
	return err
}

// setMode sets the mode of the object after the apply.
func (t *trial) setMode(ctx context.Context) error {
	o, err := ownership.ParseObject(t.preview.With)
	t.after = installation.ObjectOf(t.preview.Subject.Kind, t.preview.Subject.Namespace, o)
	t.preview.Mode = t.options.Installation.Mode(ctx, t.after).Set
	return err
}

// enabled returns how handoff would review the object with the mode label enforce.
func (t *trial) enabled(ctx context.Context) installation.Answer {
	object := t.after
	object.Labels = map[string]string{ownership.ModeLabel: string(ownership.ModeEnforce)}
	return t.options.Installation.Effect(ctx, object)
}

// state returns why handoff does not do what it would, and how to enable it.
func (t *trial) state(ctx context.Context) string {
	why := t.options.Installation.Mode(ctx, t.after).Why
	if enabled := t.enabled(ctx); why == "" && enabled.Reason != "" {
		why = enabled.Why
	}
	does, remedy := "is off", "to enable it: kubectl handoff enable "+t.preview.Subject.Namespace
	_, isLabeled := t.after.Labels[ownership.ModeLabel]
	switch {
	case t.preview.Mode == installation.Unknown && t.isOnline():
		return why + "; a dry run has the result of WITHOUT HANDOFF"
	case t.preview.Mode == installation.Unknown:
		return why
	case t.preview.Mode == ownership.ModeEnforce:
		return "handoff is enabled here, but WITHOUT HANDOFF applies: " +
			cmp.Or(why, "its configuration in the cluster is another; omit --config")
	case why != "":
		remedy = "enabling it has no effect: " + why
	case isLabeled || t.preview.Subject.Namespace == "":
		remedy = "to enable it, set the object's label " + ownership.ModeLabel + "=" + string(ownership.ModeEnforce)
	}
	if t.preview.Mode == ownership.ModeWarn {
		does = "only warns"
	}
	return "handoff " + does + " here, so WITHOUT HANDOFF applies; " + remedy
}

// addGaps adds gaps for the parts of an apply that a preview does not show.
func (t *trial) addGaps() {
	if !t.isOnline() && !t.preview.Creates && len(t.preview.Subject.Object.ManagedFields()) == 0 {
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
	t.preview.Gaps = append(t.preview.Gaps[:len(t.preview.Gaps):len(t.preview.Gaps)], t.preview.Subject.String()+": "+text)
}
