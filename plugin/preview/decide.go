package preview

import (
	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// decide returns the object after the decision of this program on the one without handoff, and the warnings about it.
func (t *trial) decide() (with ownership.Object, warnings []string, err error) {
	subject := t.application.Subject
	table := merge.Decider{Cluster: subjectCluster{subject}, Managers: t.application.Managers, Rules: t.application.Rules}
	decided, err := table.Decide(ownership.Write{
		Kind: subject.Kind, Namespace: subject.Namespace, Name: subject.Name, FieldManager: t.options.manager(),
		Live: subject.Object, Incoming: t.without,
	})
	if err != nil {
		return with, nil, err
	}
	for _, c := range decided.Changes {
		path, value := c.Field.Path.String(), ""
		if c.Field.Scale {
			value = "=" + string(c.Field.Live)
		}
		before, owner, after := c.Text(c.Decision.Verdict.Done()+" "+path+value, path)
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
	return c.subject.Context.Scaler
}
