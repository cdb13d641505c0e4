package preview

import (
	"encoding/json"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// trial is an apply to predict.
type trial struct {
	subject       source.Subject // the live object, absent if the apply creates it
	manifest      *unstructured.Unstructured
	clusterScoped bool
	namespaceMode ownership.Mode
	resource      dynamic.ResourceInterface // nil if live objects are read from files
	options       Options
}

// subjectCluster is a merge.Cluster that knows only one object.
type subjectCluster struct{ subject source.Subject }

// ScalePath implements merge.Cluster.
func (c subjectCluster) ScalePath(group, version, _ string) fieldpath.Path {
	if c.subject.Context.ScaleIn == nil {
		return c.subject.Context.Scale
	}
	return c.subject.Context.ScaleIn(metav1.GroupVersion{Group: group, Version: version}.String())
}

// Scaler implements merge.Cluster.
func (c subjectCluster) Scaler(string, string, string, string) ownership.Scaler {
	return c.subject.Scaler
}

// merged returns the object that results from the patch of kubectl apply, or the manifest for a server-side apply.
func (t *trial) merged() ([]byte, error) {
	if t.options.ServerSide {
		return json.Marshal(t.manifest)
	}
	merged, err := t.recorded()
	if err == nil && t.subject.Object.Present() {
		base, _ := t.subject.Object.LastApplied()
		if strings.TrimSpace(base) == "null" {
			base = "" // as kubectl reads it
		}
		merged, err = t.subject.ThreeWay([]byte(base), merged, t.subject.Object.Text())
	}
	if err != nil {
		return nil, err
	}
	return t.defaulted(merged)
}

// recorded returns the manifest with itself in the last-applied annotation, as kubectl writes it: with an annotations map, even
// if it is empty, and with a trailing newline (GetModifiedConfiguration in k8s.io/kubectl/pkg/util/apply.go).
func (t *trial) recorded() ([]byte, error) {
	manifest := t.manifest.DeepCopy()
	annotations := manifest.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, ownership.LastAppliedAnnotation)
	if err := setAnnotations(manifest, annotations); err != nil {
		return nil, err
	}
	text, err := manifest.MarshalJSON() // ends with a newline
	if err != nil {
		return nil, err
	}
	annotations[ownership.LastAppliedAnnotation] = string(text)
	if err := setAnnotations(manifest, annotations); err != nil {
		return nil, err
	}
	return json.Marshal(manifest.Object)
}

// setAnnotations sets the annotations. Unlike SetAnnotations, it keeps an empty map.
func setAnnotations(o *unstructured.Unstructured, annotations map[string]string) error {
	return unstructured.SetNestedStringMap(o.Object, annotations, "metadata", "annotations")
}

// defaulted sets the default replicas of a built-in kind (k8s.io/api/apps/v1, DeploymentSpec), as the API server does, if
// there is no API server to do so.
func (t *trial) defaulted(merged []byte) ([]byte, error) {
	path := scale.Builtin(t.subject.Kind.Group, t.subject.Kind.Kind)
	if t.resource != nil || path == nil {
		return merged, nil
	}
	o, err := ownership.ParseObject(merged)
	if err != nil {
		return nil, err
	}
	if replicas := o.Value(path); replicas != nil && string(replicas) != "null" || o.Value(path[:1]) == nil {
		return merged, nil
	}
	return patched(merged, []jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/replicas", json.RawMessage("1"))})
}

// modeLabel returns the object's mode label after the apply. For a server-side apply, merged is only the manifest, so a label
// that it does not set comes from the live object, unless only the applier manages it there.
func (t *trial) modeLabel(merged []byte) (text string, labeled bool, err error) {
	o, err := ownership.ParseObject(merged)
	if err != nil {
		return "", false, err
	}
	if text, labeled = o.ModeLabel(); labeled || !t.options.ServerSide {
		return text, labeled, nil
	}
	entries, err := t.subject.Object.Entries()
	if err != nil {
		return "", false, err
	}
	managers := ownership.EntriesFor(entries, fieldpath.MakePathOrDie("metadata", "labels", ownership.ModeLabel))
	if len(managers) == 1 && managers[0].Operation == ownership.OperationApply && managers[0].Manager == t.options.manager() {
		return "", false, nil
	}
	text, labeled = t.subject.Object.ModeLabel()
	return text, labeled, nil
}

// mode returns the object's mode after the apply.
func (t *trial) mode(merged []byte) (ownership.Mode, error) {
	text, labeled, err := t.modeLabel(merged)
	if err != nil || !labeled || t.clusterScoped {
		return t.namespaceMode, err
	}
	mode, _ := ownership.ModeOf(text, labeled)
	return mode, nil
}

// guessed returns an approximation of the object after an apply that the API server rejects, without defaults. For a server-side
// apply, it merges the manifest into the live object and adds the managedFields entry.
func (t *trial) guessed(merged []byte) ([]byte, error) {
	if !t.options.ServerSide {
		return merged, nil
	}
	lists := schema.WithoutRetainKeys(t.subject.Schema())
	text, err := threeway.MergeJSON(nil, merged, t.subject.Object.Text(), lists, threeway.Options{})
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	managed, err := fieldpath.SetFromValue(value.NewValueInterface(t.manifest.Object)).ToJSON()
	if err != nil {
		return nil, err
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: t.options.manager(), Operation: metav1.ManagedFieldsOperationApply, APIVersion: o.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{},
	}
	entry.FieldsV1.SetRawBytes(managed)
	others := slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == entry.Manager && e.Operation == entry.Operation && e.Subresource == ""
	})
	o.SetManagedFields(append(others, entry))
	return o.MarshalJSON()
}

// patched returns the text with JSON patch operations applied.
func patched(text []byte, operations []jsonpatch.Operation) ([]byte, error) {
	if len(operations) == 0 {
		return text, nil
	}
	encoded, err := merge.EncodePatch(operations)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatchv4.DecodePatch(encoded)
	if err != nil {
		return nil, err
	}
	return patch.Apply(text)
}
