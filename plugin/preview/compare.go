package preview

import (
	"context"
	"encoding/json"
	"errors"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// dryRuns compares two dry runs of the apply. The first is the apply as it is. If handoff has answered it, the other is the one
// with the mode label off, otherwise the one with the mode label enforce.
func (t *trial) dryRuns(ctx context.Context) error {
	now, err := t.send(ctx, "")
	var refused *refusal
	if errors.As(err, &refused) && t.preview.Subject.Object.Present() && t.isReviewable() {
		return t.fix(ctx, refused)
	}
	if err != nil {
		return err
	}
	t.preview.Without, t.preview.With = now.text, now.text
	err = t.setMode(ctx, now.text)
	if err != nil || now.unsent || !t.isReviewable() {
		return err
	}
	if now.answered {
		t.warnings = now.warnings
		if err := t.turnOff(ctx); err != nil || t.preview.Acts || t.preview.Mode == ownership.ModeEnforce && !t.options.Configured {
			return err
		}
	}
	return t.turnOn(ctx)
}

// isReviewable reports whether handoff can review the object: any in a namespace, and others of some kinds.
func (t *trial) isReviewable() bool {
	return !t.preview.tried || t.preview.Subject.Namespace != "" || t.options.Installation.Selectable(t.preview.Subject.Kind)
}

// fix compares an apply that the API server rejects with the one with the mode label enforce: handoff can make it valid by
// clearing a default that conflicts with the manifest.
func (t *trial) fix(ctx context.Context, reason *refusal) error {
	on, err := t.send(ctx, string(ownership.ModeEnforce))
	if err != nil || !on.answered {
		return reason
	}
	t.preview.Refused, t.preview.With, t.warnings, t.preview.reviewed = reason.Error(), on.text, on.warnings, true
	return t.setMode(ctx, t.preview.With)
}

// turnOff determines the result without handoff, which has answered the apply.
func (t *trial) turnOff(ctx context.Context) error {
	t.preview.Acts = true
	off, err := t.send(ctx, string(ownership.ModeOff))
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.ofFields:
		t.preview.Without, t.preview.Refused = nil, refused.Error()
		return nil
	case err != nil:
		t.preview.Without = nil
		t.gap("unknown what the apply does without handoff, because the label " + ownership.ModeLabel +
			"=off, which that dry run needs on the object, is rejected: " + err.Error())
		return nil //nolint:nilerr // the error is a gap
	}
	t.preview.Without = off.text
	if t.decided, _, err = t.decide(off.text); err != nil {
		return err
	}
	different, err := t.differences()
	if t.preview.Acts = len(different) > 0; !t.preview.Acts {
		t.preview.Without = t.preview.With
	}
	return err
}

// turnOn determines what handoff would keep where it does not: by the configuration that the user has given, or by a dry run with
// the mode label enforce. If the API server does not call handoff even then, this program decides.
func (t *trial) turnOn(ctx context.Context) error {
	decided, with, err := t.decide(t.preview.Without)
	if err != nil {
		return err
	}
	t.warnings, t.decided = nil, merge.Outcome{}
	if !t.options.Configured && t.preview.Mode != ownership.ModeEnforce {
		if on, err := t.send(ctx, string(ownership.ModeEnforce)); err == nil && on.answered {
			t.preview.With, t.warnings, t.decided, t.preview.reviewed = on.text, on.warnings, decided, true
			return nil
		}
	}
	if len(decided.Operations) > 0 && t.preview.unanswered == "" {
		t.probe(ctx)
		if t.preview.reviewed && !t.options.Configured {
			return nil // the configuration of the cluster is another
		}
	}
	t.preview.With, t.decided, t.decidedHere = with, decided, true
	return nil
}

// probe determines whether the API server would call handoff if it were enabled: handoff answers every dry run with this label.
func (t *trial) probe(ctx context.Context) {
	object := installation.ObjectOf(t.preview.Subject.Kind, t.preview.Subject.Namespace, t.preview.Subject.Object)
	object.Labels = map[string]string{ownership.ModeLabel: string(ownership.ModeEnforce)}
	t.ask(ctx, object)
	if t.preview.unanswered != "" {
		return
	}
	probe, err := t.send(ctx, protocol.ProbeMode)
	if t.preview.reviewed = probe.answered; err == nil && !probe.answered {
		t.preview.unanswered = "its webhook does not answer for this object: see kubectl handoff doctor" + t.preview.Subject.In()
	}
}

// setMode sets the mode of an object after the apply.
func (t *trial) setMode(ctx context.Context, stored []byte) error {
	o, err := ownership.ParseObject(stored)
	if err != nil {
		return err
	}
	t.preview.Mode = t.ask(ctx, installation.ObjectOf(t.preview.Subject.Kind, t.preview.Subject.Namespace, o))
	_, t.preview.labeled = o.ModeLabel()
	return nil
}

// ask returns the mode that is set for an object. It also sets why the API server does not call handoff if the webhook configuration
// says so.
func (t *trial) ask(ctx context.Context, o installation.Object) ownership.Mode {
	answer := t.options.Installation.Mode(ctx, o)
	if answer.Reason != installation.NotKnown && answer.Reason != installation.NotCalled {
		t.preview.unanswered = answer.Why
	}
	return answer.Set
}

// local compares the results of the apply without an API server, whose defaults are then unknown, except for replicas.
func (t *trial) local(ctx context.Context) error {
	manifest, err := t.sent("")
	if err != nil {
		return err
	}
	text, err := json.Marshal(manifest.Object)
	if err == nil && t.preview.Subject.Object.Present() {
		text, err = t.preview.Subject.ThreeWay(t.base(), text, t.preview.Subject.Object.Text())
	}
	if err != nil {
		return err
	}
	var merged unstructured.Unstructured
	if err := merged.UnmarshalJSON(text); err != nil {
		return err
	}
	if scale.Builtin(t.preview.Subject.Kind.Group, t.preview.Subject.Kind.Kind) != nil {
		spec, _ := merged.Object["spec"].(map[string]any)
		if spec != nil && spec["replicas"] == nil {
			spec["replicas"] = int64(1) // k8s.io/api/apps/v1, DeploymentSpec
		}
	}
	if t.preview.Without, err = merged.MarshalJSON(); err != nil {
		return err
	}
	if err := t.setMode(ctx, t.preview.Without); err != nil {
		return err
	}
	t.decidedHere = true
	t.decided, t.preview.With, err = t.decide(t.preview.Without)
	return err
}

// decide returns the decision of this program on the incoming object, and the object after it.
func (t *trial) decide(incoming []byte) (decided merge.Outcome, with []byte, err error) {
	if !t.isReviewable() {
		return decided, incoming, nil
	}
	read, err := ownership.ParseObject(incoming)
	if err != nil {
		return decided, nil, err
	}
	table := merge.Decider{Cluster: subjectCluster{t.preview.Subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err = table.Decide(ownership.Write{
		Kind: t.preview.Subject.Kind, Namespace: t.preview.Subject.Namespace, Name: t.preview.Subject.Name, FieldManager: t.options.manager(),
		Live: t.preview.Subject.Object, Incoming: read,
	})
	if err != nil || len(decided.Operations) == 0 {
		return decided, incoming, err
	}
	encoded, err := merge.EncodePatch(decided.Operations)
	if err != nil {
		return decided, nil, err
	}
	patch, err := jsonpatchv4.DecodePatch(encoded)
	if err != nil {
		return decided, nil, err
	}
	with, err = patch.Apply(incoming)
	return decided, with, err
}

// subjectCluster is a merge.Cluster that knows only one object.
type subjectCluster struct{ subject source.Subject }

// ScalePath implements merge.Cluster.
func (c subjectCluster) ScalePath(group, version, _ string) fieldpath.Path {
	if c.subject.Context.Managers.Scale == nil {
		return c.subject.Context.Scale
	}
	return c.subject.Context.Managers.Scale(metav1.GroupVersion{Group: group, Version: version}.String())
}

// Scaler implements merge.Cluster.
func (c subjectCluster) Scaler(string, string, string, string) ownership.Scaler {
	return c.subject.Scaler
}
