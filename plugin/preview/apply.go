package preview

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// answer is the result of a dry run.
type answer struct {
	// text is the object as it would be stored.
	text []byte
	// unsent reports whether the apply changes nothing, so that kubectl sends no request.
	unsent bool
	// answered reports whether handoff has answered with warnings, which are those. Warnings about a Secret can be hidden.
	answered bool
	warnings []string
}

// send sends a dry run of the apply as kubectl would, and with the mode label if mode is not empty.
func (t *trial) send(ctx context.Context, mode string) (a answer, err error) {
	sent, err := t.sent(mode)
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(sent.Object)
	if err != nil {
		return a, err
	}
	options := metav1.PatchOptions{
		FieldManager: t.options.manager(), DryRun: []string{metav1.DryRunAll}, FieldValidation: t.options.Validate,
	}
	kind := types.ApplyPatchType
	switch {
	case t.options.ServerSide:
		// Another manager may own the label. Other conflicts have been reported by the dry run without it.
		force := t.options.ForceConflicts || mode != ""
		options.Force = &force
	case t.subject.Object.Present():
		if text, kind, err = t.subject.ApplyPatch(t.base(), text, t.subject.Object.Text()); err != nil {
			return a, err
		}
		if string(text) == "{}" {
			return answer{text: t.subject.Object.Text(), unsent: true}, nil
		}
		if live, _ := t.subject.Object.LastApplied(); lastApplied(sent) == live {
			if text, err = t.marked(sent); err != nil {
				return a, err
			}
		}
	}
	ctx, heard := source.WithWarnings(ctx, mode == "")
	var stored *unstructured.Unstructured
	if t.options.ServerSide || t.subject.Object.Present() {
		stored, err = t.application.Resource.Patch(ctx, t.subject.Name, kind, text, options)
	} else {
		stored, err = t.application.Resource.Create(ctx, sent, metav1.CreateOptions{
			FieldManager: options.FieldManager, DryRun: options.DryRun, FieldValidation: options.FieldValidation,
		})
	}
	if err != nil {
		return a, t.classify(err)
	}
	isOther := func(text string) bool { return !strings.HasPrefix(text, protocol.WarningPrefix) }
	a.warnings = slices.DeleteFunc(slices.Clone(*heard), isOther)
	a.answered = len(a.warnings) > 0 || t.subject.IsSecret() && len(*heard) > 0
	if !t.options.ServerSide {
		unmark(stored)
	}
	a.text, err = stored.MarshalJSON()
	return a, err
}

// mark is what a dry run appends to a last-applied annotation that the apply does not change. A dry run that does not send the
// annotation can also be a kubectl diff, of any other manifest.
const mark = " "

// marked returns the patch of an apply with a marked annotation.
func (t *trial) marked(sent *unstructured.Unstructured) ([]byte, error) {
	annotations := sent.GetAnnotations()
	annotations[ownership.LastAppliedAnnotation] += mark
	sent.SetAnnotations(annotations)
	text, err := json.Marshal(sent.Object)
	if err != nil {
		return nil, err
	}
	patch, _, err := t.subject.ApplyPatch(t.base(), text, t.subject.Object.Text())
	return patch, err
}

// unmark removes the mark from a stored object.
func unmark(stored *unstructured.Unstructured) {
	if text, marked := strings.CutSuffix(lastApplied(stored), mark); marked {
		annotations := stored.GetAnnotations()
		annotations[ownership.LastAppliedAnnotation] = text
		stored.SetAnnotations(annotations)
	}
}

func lastApplied(o *unstructured.Unstructured) string {
	return o.GetAnnotations()[ownership.LastAppliedAnnotation]
}

// base returns the last-applied configuration as kubectl reads it.
func (t *trial) base() []byte {
	base, _ := t.subject.Object.LastApplied()
	if strings.TrimSpace(base) == "null" {
		return nil
	}
	return []byte(base)
}

// sent returns the manifest as kubectl sends it: with itself in the last-applied annotation for a client-side apply. If mode is not
// empty, it has the mode label.
func (t *trial) sent(mode string) (*unstructured.Unstructured, error) {
	sent := t.application.Manifest.DeepCopy()
	if !t.options.ServerSide {
		// As in GetModifiedConfiguration (k8s.io/kubectl/pkg/util/apply.go): with an annotations map, even if it is empty, and with
		// a trailing newline. SetAnnotations would remove an empty map.
		annotations := sent.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		delete(annotations, ownership.LastAppliedAnnotation)
		if err := unstructured.SetNestedStringMap(sent.Object, annotations, "metadata", "annotations"); err != nil {
			return nil, err
		}
		text, err := sent.MarshalJSON()
		if err != nil {
			return nil, err
		}
		annotations[ownership.LastAppliedAnnotation] = string(text)
		sent.SetAnnotations(annotations)
	}
	if mode == "" {
		return sent, nil
	}
	labels := sent.GetLabels()
	if labels == nil {
		labels = t.defaultLabels()
	}
	labels[ownership.ModeLabel] = mode
	sent.SetLabels(labels)
	return sent, nil
}

// defaultLabels returns the labels that the API server gives an object without any, and does not beside the mode label: those of
// its pods (SetDefaults_ReplicationController in k8s.io/kubernetes/pkg/apis/core/v1, SetDefaults_Job in pkg/apis/batch/v1).
func (t *trial) defaultLabels() map[string]string {
	found := map[string]string{}
	switch t.application.Manifest.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "ReplicationController"}, schema.GroupKind{Group: "batch", Kind: "Job"}:
		labels, _, _ := unstructured.NestedStringMap(t.application.Manifest.Object, "spec", "template", "metadata", "labels")
		for name, label := range labels {
			live, _ := t.subject.Object.At("metadata", "labels", name).String()
			if t.subject.Object.Present() && live != label {
				return map[string]string{}
			}
			found[name] = label
		}
	}
	return found
}

// relabeled returns an object with the mode label of another one.
func relabeled(object, like []byte) ([]byte, error) {
	var objects [2]unstructured.Unstructured
	for i, text := range [][]byte{object, like} {
		if err := objects[i].UnmarshalJSON(text); err != nil {
			return nil, err
		}
	}
	labels := objects[0].GetLabels()
	if label, labeled := objects[1].GetLabels()[ownership.ModeLabel]; labeled {
		labels[ownership.ModeLabel] = label
	} else {
		delete(labels, ownership.ModeLabel)
	}
	if len(labels) == 0 {
		labels = nil
	}
	objects[0].SetLabels(labels)
	return objects[0].MarshalJSON()
}

// defaulted sets the default replicas of a built-in kind (k8s.io/api/apps/v1, DeploymentSpec), as the API server does.
func (t *trial) defaulted(merged []byte) ([]byte, error) {
	path := scale.Builtin(t.subject.Kind.Group, t.subject.Kind.Kind)
	o, err := ownership.ParseObject(merged)
	if err != nil {
		return nil, err
	}
	if path == nil || o.Value(path) != nil && string(o.Value(path)) != "null" || o.Value(path[:1]) == nil {
		return merged, nil
	}
	return patched(merged, []jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/replicas", json.RawMessage("1"))})
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
