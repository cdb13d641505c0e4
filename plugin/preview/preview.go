// Package preview shows what an apply would do to an object: the difference between two dry runs by the API server, with and
// without handoff. The reasons are the webhook's own warnings.
package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/optin"
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
	// Reader reads the live objects, with a configuration. Configured reports whether the user has given it: it then decides what handoff
	// would keep. Otherwise the configuration of the cluster's webhook does.
	Reader     *source.Reader
	Configured bool
	// Installation reports in which mode handoff reviews an object.
	Installation *installation.Installation
}

// manager returns the field manager of the apply (k8s.io/kubectl/pkg/cmd/apply).
func (o Options) manager() string {
	if o.ServerSide {
		return cmp.Or(o.FieldManager, "kubectl")
	}
	return cmp.Or(o.FieldManager, managedfields.ClientSideApply)
}

// Preview is what an apply does to an object, without the contents of a Secret.
type Preview struct {
	Object source.Identity `json:"object"`
	// Creates reports whether the apply creates the object.
	Creates bool `json:"creates,omitempty"`
	// Mode is the mode in the object's label or its namespace's annotation, or installation.Unknown.
	Mode optin.Mode `json:"mode"`
	// Keeps reports whether an apply with handoff differs from one without.
	Keeps bool `json:"keeps"`
	// Acts reports whether handoff is on: an apply now results in With, and otherwise in Without. State is why handoff does not do
	// what it would, and how to enable it.
	Acts  bool   `json:"acts,omitempty"`
	State string `json:"state,omitempty"`
	// Refused is the API server's reason for rejecting an apply without handoff.
	Refused string `json:"refused,omitempty"`
	// Fields are the fields that differ without and with handoff, followed by all others that the apply changes.
	Fields []Field `json:"fields"`
	// Warnings are those of the webhook, about the apply with handoff. They contain the reasons and what to do.
	Warnings []string `json:"warnings,omitempty"`
	// Gaps describe what is unknown; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`

	// subject is the live object, absent if the apply creates it. isUnknown reports whether the result without handoff is unknown.
	subject   source.Subject
	isUnknown bool
}

// trial is an apply to preview.
type trial struct {
	preview     Preview
	application source.Application
	options     Options
	// without and with are the object after an apply, without and with handoff. without is absent if the API server rejects that apply,
	// or if it is unknown, which is a gap.
	without, with ownership.Object
	// after is the object after the apply, as it is.
	after installation.Object
	// isOther reports whether handoff answers the apply by the configuration in the cluster, and with is by the one that the user has given.
	isOther bool
}

// Of previews the apply of a manifest. The error starts with the name of the object; in most cases it is the API server's reason
// for rejecting the apply.
func Of(ctx context.Context, manifest *unstructured.Unstructured, o Options) (Preview, error) {
	a, err := o.Reader.Application(ctx, manifest)
	t := &trial{application: a, options: o, preview: Preview{
		Object: a.Subject.Identity, Creates: !a.Subject.Object.Present(),
		Fields: []Field{}, Gaps: a.Subject.Gaps, subject: a.Subject,
	}}
	if err == nil {
		err = t.compare(ctx)
	}
	if err == nil {
		err = t.fill()
	}
	if err != nil {
		return t.preview, fmt.Errorf("%s: %w", source.IdentityOf(manifest), err)
	}
	if t.preview.Acts = t.preview.Acts && t.preview.Keeps; t.preview.Keeps && !t.preview.Acts {
		t.preview.State = t.state(ctx)
	}
	entries, _ := a.Subject.Object.Entries() // the decision reports the error
	isClientSide := func(e ownership.Entry) bool {
		return e.Manager == managedfields.ClientSideApply && e.Operation == managedfields.OperationUpdate
	}
	if o.ServerSide && slices.ContainsFunc(entries, isClientSide) {
		t.gap("after earlier client-side applies, kubectl first moves their managedFields entries " +
			"to the server-side manager and then deletes fields that are missing from the manifest; a dry run does not show that")
	}
	return t.preview, nil
}

// compare determines the results of the apply without and with handoff. The first dry run is the apply as it is. If handoff has acted
// on it, the other is the one with the mode label off, otherwise the one with the mode label enforce.
func (t *trial) compare(ctx context.Context) error {
	subject := t.application.Subject
	if t.application.Manifest.GetResourceVersion() != "" && t.preview.Creates { // which a dry run does not show
		return errors.New(rejects + "metadata.resourceVersion must not be set on objects to be created; remove it from the manifest")
	}
	now, err := t.send(ctx, "")
	if errors.Is(err, errInvalid) && !t.preview.Creates {
		// Handoff can make it valid by clearing a default that conflicts with the manifest.
		if on, onErr := t.send(ctx, optin.Enforce); onErr == nil && on.answered {
			t.preview.Refused = err.Error()
			now, err = on, nil
		}
	}
	if err != nil {
		return err
	}
	t.with, t.preview.Warnings = now.object, now.warnings
	t.after = installation.ObjectOf(subject.Kind, subject.Namespace, t.with)
	t.preview.Mode = t.options.Installation.Mode(ctx, t.after).Set
	if t.preview.Refused != "" {
		return nil
	}
	t.without = now.object
	mayAct := t.preview.Mode == optin.Enforce || t.preview.Mode == installation.Unknown
	switch {
	case now.unsent, subject.Namespace == "" && !t.options.Installation.Selectable(subject.Kind):
		return nil
	case now.answered && mayAct:
		t.turnOff(ctx)
		if !t.options.Configured || t.preview.Refused != "" || t.preview.isUnknown {
			return nil
		}
		t.preview.Acts, t.isOther = false, true
		return t.turnOn(ctx)
	default:
		return t.turnOn(ctx)
	}
}

// turnOff determines the result without handoff, which has answered the apply.
func (t *trial) turnOff(ctx context.Context) {
	off, err := t.send(ctx, optin.Off)
	switch {
	case errors.Is(err, errInvalid):
		t.preview.Refused = err.Error()
	case err != nil:
		t.preview.isUnknown = true
		t.gap("unknown what the apply does without handoff, because the label " + optin.Label +
			"=off, which that dry run needs on the object, is rejected: " + err.Error())
	}
	t.preview.Acts, t.without = true, off.object
}

// turnOn determines what handoff would keep where it does not: by a dry run with the mode label enforce or, if the API server does not
// call handoff even then, or the user has given a configuration, by the decision of this program.
func (t *trial) turnOn(ctx context.Context) error {
	mayAsk, isSilent := !t.options.Configured, t.preview.Mode == optin.Enforce
	if mayAsk && !isSilent {
		on, err := t.send(ctx, optin.Enforce)
		if err == nil && on.answered {
			t.with, t.preview.Warnings = on.object, on.warnings
			return nil
		}
		isSilent = err == nil
	}
	with, warnings, err := t.decide()
	if mayAsk && isSilent && len(warnings) > 0 && t.enabled(ctx).On() {
		return nil // handoff keeps nothing: its configuration is another
	}
	t.with, t.preview.Warnings = with, warnings
	return err
}

// enabled returns how handoff would review the object with the mode label enforce.
func (t *trial) enabled(ctx context.Context) installation.Answer {
	object := t.after
	object.Labels = map[string]string{optin.Label: string(optin.Enforce)}
	return t.options.Installation.Effect(ctx, object)
}

// state returns why handoff does not do what it would, or how to enable it.
func (t *trial) state(ctx context.Context) string {
	why, namespace := t.options.Installation.Mode(ctx, t.after).Why, t.application.Subject.Namespace
	if enabled := t.enabled(ctx); why == "" && enabled.Reason != "" {
		why = enabled.Why
	}
	_, isLabeled := t.after.Labels[optin.Label]
	switch {
	case t.isOther:
		return "WITH HANDOFF is by --config; an apply follows the configuration of handoff in the cluster"
	case t.preview.Mode == installation.Unknown:
		return why + "; a dry run has the result of WITHOUT HANDOFF"
	case why != "":
	case t.preview.Mode == optin.Enforce:
		why = "the configuration of handoff in the cluster is another; omit --config"
	case isLabeled || namespace == "":
		why = fmt.Sprintf("the mode is %s; to enable handoff, set the object's label %s=%s", t.preview.Mode, optin.Label, optin.Enforce)
	default:
		why = fmt.Sprintf("the mode is %s; to enable handoff: kubectl handoff enable %s", t.preview.Mode, namespace)
	}
	return "WITHOUT HANDOFF applies: " + why
}

func (t *trial) gap(text string) {
	t.preview.Gaps = append(slices.Clip(t.preview.Gaps), t.application.Subject.String()+": "+text)
}
