package preview

import (
	"context"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// comparison is an object after an apply, without and with handoff.
type comparison struct {
	// mode is the object's, and labeled reports whether it is that of its label.
	mode    ownership.Mode
	labeled bool
	// without and with are the objects. without is nil if the API server rejects the apply, and refused is then the reason, or
	// if it is unknown, which is one of the gaps.
	without, with []byte
	refused       string
	gaps          []string
	// acts reports whether handoff is on, and reviewed whether the API server would call it.
	acts     bool
	reviewed reviewed
	// warnings are those of the dry run of with.
	warnings []string
	// decided is the decision of this program on the object without handoff. It is the reason for the differences unless
	// warnings say otherwise. local reports whether with is its result, and not that of a dry run.
	decided merge.Outcome
	local   bool
}

// dryRuns compares dry runs of the apply. The first is the apply as it is. If handoff has answered it, the second is the one with
// handoff turned off, by the mode label.
func (t *trial) dryRuns(ctx context.Context) (c comparison, err error) {
	now, err := t.send(ctx, "")
	var refused *refusal
	if errors.As(err, &refused) && t.subject.Object.Present() && !t.application.ClusterScoped {
		c.mode, c.labeled = t.modeOf(nil)
		return t.refused(ctx, c, refused)
	}
	if err != nil {
		return c, err
	}
	c.mode, c.labeled = t.modeOf(now.text)
	c.without, c.with = now.text, now.text
	if now.unsent || t.application.ClusterScoped { // the webhook does not review cluster-scoped objects
		return c, nil
	}
	if !now.answered || c.mode == ownership.ModeWarn {
		return t.turnedOn(ctx, c)
	}
	c.acts, c.reviewed, c.warnings = true, isReviewed, now.warnings
	return t.turnedOff(ctx, c)
}

// turnedOff determines the result without handoff, which has answered the apply.
func (t *trial) turnedOff(ctx context.Context, c comparison) (comparison, error) {
	off, err := t.send(ctx, string(ownership.ModeOff))
	if err != nil {
		var refused *refusal
		if c.without = nil; errors.As(err, &refused) && refused.ofFields {
			c.refused = refused.Error()
		} else {
			c.gaps = []string{t.subject.String() + ": unknown what the apply does without handoff, because the label " +
				ownership.ModeLabel + "=off, which that dry run needs on the object, is rejected: " + err.Error()}
		}
		return c, nil
	}
	if c.without, err = relabeled(off.text, c.with); err != nil {
		return c, err
	}
	if c.decided, _, err = t.decide(c.without); err != nil {
		return c, err
	}
	if c.acts, err = t.differ(c.without, c.with); c.acts || err != nil {
		return c, err
	}
	if c.without = c.with; c.mode == ownership.ModeEnforce && !t.options.Configured {
		return c, nil // it keeps nothing
	}
	c.warnings, c.decided = nil, merge.Outcome{}
	return t.turnedOn(ctx, c)
}

// refused compares an apply that the API server rejects with the one with the mode label enforce: handoff can make it valid by
// clearing a default that conflicts with the manifest.
func (t *trial) refused(ctx context.Context, c comparison, reason *refusal) (comparison, error) {
	on, err := t.send(ctx, string(ownership.ModeEnforce))
	if err != nil || !on.answered {
		return c, reason
	}
	c.refused, c.reviewed, c.warnings = reason.Error(), isReviewed, on.warnings
	c.with, err = relabeled(on.text, t.subject.Object.Text())
	return c, err
}

// turnedOn determines what handoff would keep where it does not: by the configuration that the user has given, or by a dry run with
// the mode label enforce. If the API server does not call handoff even then, this program decides.
func (t *trial) turnedOn(ctx context.Context, c comparison) (comparison, error) {
	decided, with, err := t.decide(c.without)
	if err != nil {
		return c, err
	}
	if !t.options.Configured && c.mode != ownership.ModeEnforce {
		on, err := t.send(ctx, string(ownership.ModeEnforce))
		if err == nil && on.answered {
			c.reviewed, c.warnings, c.decided = isReviewed, on.warnings, decided
			c.with, err = relabeled(on.text, c.without)
			return c, err
		}
	}
	if len(decided.Operations) > 0 {
		if c.reviewed = t.isReviewed(ctx); c.reviewed == isReviewed && !t.options.Configured {
			return c, nil // the configuration of the cluster is another
		}
	}
	c.with, c.decided, c.local = with, decided, true
	return c, nil
}

// isReviewed reports whether the API server calls handoff for the object: handoff answers every dry run with this label.
func (t *trial) isReviewed(ctx context.Context) reviewed {
	probe, err := t.send(ctx, protocol.ProbeMode)
	switch {
	case err != nil:
		return notKnown
	case probe.answered:
		return isReviewed
	default:
		return isNotReviewed
	}
}

// modeOf returns the object's mode after the apply: that of its label, or else of its namespace.
func (t *trial) modeOf(applied []byte) (mode ownership.Mode, labeled bool) {
	o, err := ownership.ParseObject(applied)
	if err != nil {
		o = t.subject.Object
	}
	text, labeled := o.ModeLabel()
	if !labeled || t.application.ClusterScoped {
		return t.application.Mode, false
	}
	mode, _ = ownership.ModeOf(text, labeled)
	return mode, true
}

// local compares the results of the apply without an API server.
func (t *trial) local(context.Context) (c comparison, err error) {
	manifest, err := t.sent("")
	if err != nil {
		return c, err
	}
	if c.without, err = json.Marshal(manifest.Object); err != nil {
		return c, err
	}
	if t.subject.Object.Present() {
		if c.without, err = t.subject.ThreeWay(t.base(), c.without, t.subject.Object.Text()); err != nil {
			return c, err
		}
	}
	if c.without, err = t.defaulted(c.without); err != nil {
		return c, err
	}
	c.mode, c.labeled = t.modeOf(c.without)
	c.local = true
	c.decided, c.with, err = t.decide(c.without)
	return c, err
}

// decide returns the decision of this program on the incoming object, and the object after it.
func (t *trial) decide(incoming []byte) (decided merge.Outcome, with []byte, err error) {
	if t.application.ClusterScoped {
		return decided, incoming, nil
	}
	read, err := ownership.ParseObject(incoming)
	if err != nil {
		return decided, nil, err
	}
	table := merge.Decider{Cluster: subjectCluster{t.subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err = table.Decide(merge.Request{
		Kind: t.subject.Kind, Namespace: t.subject.Namespace, Name: t.subject.Name, FieldManager: t.options.manager(),
		Live: t.subject.Object, Incoming: read,
	})
	if err != nil {
		return decided, nil, err
	}
	with, err = patched(incoming, decided.Operations)
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
