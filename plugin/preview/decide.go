package preview

import (
	"context"
	"encoding/json"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// local compares the results of the apply without an API server, whose defaults are then unknown, except for replicas.
func (t *trial) local(ctx context.Context) error {
	manifest, err := t.sent("")
	if err != nil {
		return err
	}
	text, err := json.Marshal(manifest.Object)
	if err == nil && !t.preview.Creates {
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
	t.isLocal = true
	if t.preview.With, t.warnings, err = t.decide(t.preview.Without); err != nil {
		return err
	}
	err = t.setMode(ctx)
	t.preview.Acts = t.preview.Mode == ownership.ModeEnforce
	return err
}

// decide returns the object after the decision of this program on the incoming object, and the warnings about it, which are not cut.
func (t *trial) decide(incoming []byte) (with []byte, warnings []string, err error) {
	if !t.isReviewable() {
		return incoming, nil, nil
	}
	read, err := ownership.ParseObject(incoming)
	if err != nil {
		return nil, nil, err
	}
	table := merge.Decider{Cluster: subjectCluster{t.preview.Subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err := table.Decide(ownership.Write{
		Kind: t.preview.Subject.Kind, Namespace: t.preview.Subject.Namespace, Name: t.preview.Subject.Name, FieldManager: t.options.manager(),
		Live: t.preview.Subject.Object, Incoming: read,
	})
	if err != nil {
		return nil, nil, err
	}
	did := map[merge.Verdict]string{
		merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started", merge.ManifestWins: "not kept", merge.Removed: "removed",
	}
	for _, c := range decided.Changes {
		path := c.Field.Path.String()
		before, owner, after := c.Text(did[c.Decision.Verdict]+" "+path, path)
		warnings = append(warnings, protocol.WarningPrefix+before+owner+after)
	}
	if len(decided.Operations) == 0 {
		return incoming, warnings, nil
	}
	encoded, err := merge.EncodePatch(decided.Operations)
	if err != nil {
		return nil, nil, err
	}
	patch, err := jsonpatchv4.DecodePatch(encoded)
	if err != nil {
		return nil, nil, err
	}
	with, err = patch.Apply(incoming)
	return with, warnings, err
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
