package preview

import (
	"encoding/json"
	"errors"
	"fmt"

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

// merged returns the object after an apply without an API server, whose defaults are then unknown, except for replicas.
func (t *trial) merged(manifest *unstructured.Unstructured) (o ownership.Object, err error) {
	if t.options.ServerSide {
		return o, errors.New("a server-side apply can only be previewed by the API server; omit --live or --server-side")
	}
	subject, merged := t.application.Subject, manifest
	if !t.preview.Creates {
		text, err := json.Marshal(manifest.Object)
		if err == nil {
			text, err = subject.ThreeWay(t.base(), text, subject.Object.Text())
		}
		if err != nil {
			return o, err
		}
		merged = &unstructured.Unstructured{}
		if err := merged.UnmarshalJSON(text); err != nil {
			return o, err
		}
	}
	if spec, _ := merged.Object["spec"].(map[string]any); spec != nil && spec["replicas"] == nil &&
		scale.Builtin(subject.Kind.Group, subject.Kind.Kind) != nil {
		spec["replicas"] = int64(1) // k8s.io/api/apps/v1, DeploymentSpec
	}
	return parsed(merged)
}

// maxWarnings is how many fields are named in warnings, as in those of the webhook.
const maxWarnings = 8

// decide returns the object after the decision of this program on the one without handoff, and the warnings about it, which are not cut.
func (t *trial) decide() (with ownership.Object, warnings []string, err error) {
	subject := t.application.Subject
	table := merge.Decider{Cluster: subjectCluster{subject}, Managers: t.options.Managers, Rules: t.options.Rules}
	decided, err := table.Decide(ownership.Write{
		Kind: subject.Kind, Namespace: subject.Namespace, Name: subject.Name, FieldManager: t.options.manager(),
		Live: subject.Object, Incoming: t.without,
	})
	if err != nil {
		return with, nil, err
	}
	did := map[merge.Verdict]string{
		merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started", merge.ManifestWins: "not kept", merge.Removed: "removed",
	}
	for i, c := range decided.Changes {
		if i == maxWarnings {
			warnings = append(warnings, fmt.Sprint(protocol.WarningPrefix, len(decided.Changes)-i, moreFields))
			break
		}
		path := c.Field.Path.String()
		before, owner, after := c.Text(did[c.Decision.Verdict]+" "+path, path)
		warnings = append(warnings, protocol.WarningPrefix+before+owner+after)
	}
	if len(decided.Operations) == 0 {
		return t.without, warnings, nil
	}
	encoded, err := merge.EncodePatch(decided.Operations)
	if err != nil {
		return with, nil, err
	}
	patch, err := jsonpatchv4.DecodePatch(encoded)
	if err != nil {
		return with, nil, err
	}
	text, err := patch.Apply(t.without.Text())
	if err != nil {
		return with, nil, err
	}
	with, err = ownership.ParseObject(text)
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
