package preview

import (
	"bytes"
	"context"
	"encoding/json"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// without returns what an apply stores where handoff does nothing. An installed webhook is told so by the annotation.
func (t *trial) without(ctx context.Context, merged []byte, mode ownership.Mode) ([]byte, error) {
	if t.Resource == nil || bytes.Equal(merged, t.Object.Text()) {
		return merged, nil // kubectl sends nothing that changes nothing
	}
	if mode == ownership.ModeOff || !t.options.ServerSide {
		return t.try(ctx, merged, mode != ownership.ModeOff)
	}
	// The annotation may be somebody else's, which takes force. Whether there are other conflicts is asked before.
	if _, err := t.try(ctx, merged, false); err != nil {
		return nil, err
	}
	return t.try(ctx, merged, true)
}

// request sends an object as a dry run and returns what would be stored.
type request func(ctx context.Context, o *unstructured.Unstructured, quiet bool) (*unstructured.Unstructured, error)

// try has an apply tried, quietly where handoff is to do nothing, and returns the object as it would be stored.
func (t *trial) try(ctx context.Context, merged []byte, quiet bool) ([]byte, error) {
	switch {
	case t.options.ServerSide:
		return t.tryBy(ctx, t.apply, merged, quiet)
	case t.Object.Present():
		return t.tryBy(ctx, t.update, merged, quiet)
	default:
		return t.tryBy(ctx, t.create, merged, quiet)
	}
}

func (t *trial) tryBy(ctx context.Context, send request, merged []byte, quiet bool) ([]byte, error) {
	sent := &unstructured.Unstructured{}
	if err := sent.UnmarshalJSON(merged); err != nil {
		return nil, err
	}
	if quiet {
		annotateMode(sent, string(ownership.ModeOff), true)
	}
	stored, err := send(ctx, sent, quiet)
	if err != nil {
		return nil, t.answered(err)
	}
	if quiet {
		if err := t.loud(stored, merged); err != nil {
			return nil, err
		}
	}
	return stored.MarshalJSON()
}

// loud takes back what has made a request quiet. Of a server-side apply the API server writes last-applied anew, where there is
// one (k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedupdater.go).
func (t *trial) loud(stored *unstructured.Unstructured, merged []byte) error {
	text, annotated, err := t.modeAnnotation(merged)
	if err != nil {
		return err
	}
	annotateMode(stored, text, annotated)
	annotations := stored.GetAnnotations()
	written, ok := annotations[ownership.LastAppliedAnnotation]
	if before, _ := t.Object.LastApplied(); !ok || !t.options.ServerSide || written == before {
		return nil
	}
	manifest, err := t.Manifest.MarshalJSON()
	if err != nil {
		return err
	}
	annotations[ownership.LastAppliedAnnotation] = string(manifest)
	stored.SetAnnotations(annotations)
	return nil
}

// apply is the request of a server-side apply. The annotation that makes it quiet is no reason for a conflict.
func (t *trial) apply(ctx context.Context, o *unstructured.Unstructured, quiet bool) (*unstructured.Unstructured, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options, force := t.patchOptions(), t.options.ForceConflicts || quiet
	options.Force = &force
	return t.Resource.Patch(ctx, t.Name, types.ApplyPatchType, text, options)
}

func (t *trial) create(ctx context.Context, o *unstructured.Unstructured, _ bool) (*unstructured.Unstructured, error) {
	options := t.patchOptions()
	return t.Resource.Create(ctx, o, metav1.CreateOptions{
		FieldManager: options.FieldManager, DryRun: options.DryRun, FieldValidation: options.FieldValidation,
	})
}

// update is a request that makes live another object.
func (t *trial) update(ctx context.Context, o *unstructured.Unstructured, _ bool) (*unstructured.Unstructured, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	patch, err := merge.EncodePatch(replacing(t.Object.Text(), text))
	if err != nil {
		return nil, err
	}
	return t.Resource.Patch(ctx, t.Name, types.JSONPatchType, patch, t.patchOptions())
}

func (t *trial) patchOptions() metav1.PatchOptions {
	return metav1.PatchOptions{
		FieldManager: t.options.manager(), DryRun: []string{metav1.DryRunAll}, FieldValidation: t.options.Validate,
	}
}

// replacing returns operations that make an object another one, member by member. The resourceVersion is left alone: what is
// asked about is the object as it was read, even if there is a newer one.
func replacing(live, wanted []byte) []jsonpatch.Operation {
	operations := replacingMembers(live, wanted, "/", "metadata")
	of := func(text []byte) []byte { return rawjson.Find(text, "metadata").Of(text) }
	return append(operations, replacingMembers(of(live), of(wanted), "/metadata/", "resourceVersion")...)
}

func replacingMembers(live, wanted []byte, at, but string) (operations []jsonpatch.Operation) {
	rawjson.Members(wanted, func(quoted, value rawjson.Span) bool {
		name := string(rawjson.Name(quoted.Of(wanted)))
		if name != but && !bytes.Equal(rawjson.Find(live, name).Of(live), value.Of(wanted)) {
			wantedValue := json.RawMessage(value.Of(wanted))
			operations = append(operations, jsonpatch.NewOperation("add", at+rawjson.EscapePointer(name), wantedValue))
		}
		return true
	})
	rawjson.Members(live, func(quoted, _ rawjson.Span) bool {
		name := string(rawjson.Name(quoted.Of(live)))
		if name != but && !rawjson.Find(wanted, name).Present() {
			operations = append(operations, jsonpatch.NewOperation("remove", at+rawjson.EscapePointer(name), nil))
		}
		return true
	})
	return operations
}

// annotateMode sets the mode annotation of an object, or removes it.
func annotateMode(o *unstructured.Unstructured, text string, annotated bool) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[ownership.ModeAnnotation] = text; !annotated {
		delete(annotations, ownership.ModeAnnotation)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}
