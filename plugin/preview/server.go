package preview

import (
	"bytes"
	"context"
	"encoding/json"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// without returns the object after an apply without handoff. The mode label turns an installed webhook off.
func (t *trial) without(ctx context.Context, merged []byte, mode ownership.Mode) ([]byte, error) {
	if t.resource == nil || bytes.Equal(merged, t.subject.Object.Text()) {
		return merged, nil // kubectl sends no request if nothing changes
	}
	if mode == ownership.ModeOff || !t.options.ServerSide {
		return t.try(ctx, merged, without(mode))
	}
	// Another manager may own the label, so the request needs force. Check for other conflicts first.
	if _, err := t.try(ctx, merged, reviewed); err != nil {
		return nil, err
	}
	return t.try(ctx, merged, bypassed)
}

// review is whether an installed webhook acts on a request.
type review int

const (
	reviewed review = iota
	bypassed        // the mode label turns the webhook off
)

// without returns the review of a request without handoff: in mode off, there is nothing to bypass.
func without(mode ownership.Mode) review {
	if mode == ownership.ModeOff {
		return reviewed
	}
	return bypassed
}

// request sends an object as a dry run and returns what would be stored.
type request func(ctx context.Context, o *unstructured.Unstructured, by review) (*unstructured.Unstructured, error)

// try sends a dry run of the apply, and returns the object as it would be stored.
func (t *trial) try(ctx context.Context, merged []byte, by review) ([]byte, error) {
	switch {
	case t.options.ServerSide:
		return t.tryBy(ctx, t.apply, merged, by)
	case t.subject.Object.Present():
		return t.tryBy(ctx, t.update, merged, by)
	default:
		return t.tryBy(ctx, t.create, merged, by)
	}
}

func (t *trial) tryBy(ctx context.Context, send request, merged []byte, by review) ([]byte, error) {
	sent := &unstructured.Unstructured{}
	if err := sent.UnmarshalJSON(merged); err != nil {
		return nil, err
	}
	if by == bypassed {
		defaultLabels(sent)
		labelMode(sent, string(ownership.ModeOff))
	}
	stored, err := send(ctx, sent, by)
	if err != nil {
		return nil, t.classify(err)
	}
	if by == bypassed {
		if err := t.restoreMode(stored, merged); err != nil {
			return nil, err
		}
	}
	return stored.MarshalJSON()
}

// restoreMode undoes the mode label of a request without handoff. On a server-side apply, the API server also updates an
// existing last-applied annotation (k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedupdater.go).
func (t *trial) restoreMode(stored *unstructured.Unstructured, merged []byte) error {
	text, labeled, err := t.modeLabel(merged)
	if err != nil {
		return err
	}
	if labeled {
		labelMode(stored, text)
	} else {
		unlabelMode(stored)
	}
	annotations := stored.GetAnnotations()
	written, ok := annotations[ownership.LastAppliedAnnotation]
	if before, _ := t.subject.Object.LastApplied(); !ok || !t.options.ServerSide || written == before {
		return nil
	}
	manifest, err := t.manifest.MarshalJSON()
	if err != nil {
		return err
	}
	annotations[ownership.LastAppliedAnnotation] = string(manifest)
	stored.SetAnnotations(annotations)
	return nil
}

// apply sends a server-side apply. Without handoff it uses force, so that the mode label cannot cause a conflict.
func (t *trial) apply(
	ctx context.Context, o *unstructured.Unstructured, by review,
) (*unstructured.Unstructured, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options, force := t.patchOptions(), t.options.ForceConflicts || by == bypassed
	options.Force = &force
	return t.resource.Patch(ctx, t.subject.Name, types.ApplyPatchType, text, options)
}

func (t *trial) create(ctx context.Context, o *unstructured.Unstructured, _ review) (*unstructured.Unstructured, error) {
	options := t.patchOptions()
	return t.resource.Create(ctx, o, metav1.CreateOptions{
		FieldManager: options.FieldManager, DryRun: options.DryRun, FieldValidation: options.FieldValidation,
	})
}

// update sends a patch that replaces the live object.
func (t *trial) update(ctx context.Context, o *unstructured.Unstructured, _ review) (*unstructured.Unstructured, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	patch, err := merge.EncodePatch(replacing(t.subject.Object.Text(), text))
	if err != nil {
		return nil, err
	}
	return t.resource.Patch(ctx, t.subject.Name, types.JSONPatchType, patch, t.patchOptions())
}

func (t *trial) patchOptions() metav1.PatchOptions {
	return metav1.PatchOptions{
		FieldManager: t.options.manager(), DryRun: []string{metav1.DryRunAll}, FieldValidation: t.options.Validate,
	}
}

// replacing returns the operations that turn the live object into the wanted one, member by member. It leaves out the
// resourceVersion, so that a newer live object does not cause a conflict.
func replacing(live, wanted []byte) []jsonpatch.Operation {
	from, to := jsontree.Valid(live), jsontree.Valid(wanted)
	operations := replacingMembers(from, to, "/", "metadata")
	return append(operations, replacingMembers(from.Member("metadata"), to.Member("metadata"), "/metadata/", "resourceVersion")...)
}

func replacingMembers(live, wanted *jsontree.Node, at, but string) (operations []jsonpatch.Operation) {
	for part := range wanted.Parts() {
		name := part.Name()
		if name != but && !bytes.Equal(live.Member(name).Text(), part.Text()) {
			operations = append(operations, jsonpatch.NewOperation("add", at+jsontree.EscapePointer(name), json.RawMessage(part.Text())))
		}
	}
	for part := range live.Parts() {
		if name := part.Name(); name != but && wanted.Member(name) == nil {
			operations = append(operations, jsonpatch.NewOperation("remove", at+jsontree.EscapePointer(name), nil))
		}
	}
	return operations
}

// defaultLabels gives a ReplicationController without labels those of its pods, as the API server does
// (SetDefaults_ReplicationController in k8s.io/kubernetes/pkg/apis/core/v1): it would not do so beside the mode label.
func defaultLabels(o *unstructured.Unstructured) {
	if o.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "ReplicationController"}) || len(o.GetLabels()) > 0 {
		return
	}
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
	o.SetLabels(labels)
}

// labelMode sets the mode label of an object.
func labelMode(o *unstructured.Unstructured, text string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[ownership.ModeLabel] = text
	o.SetLabels(labels)
}

// unlabelMode removes the mode label of an object.
func unlabelMode(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	delete(labels, ownership.ModeLabel)
	if len(labels) == 0 {
		labels = nil
	}
	o.SetLabels(labels)
}
