package preview

import (
	"context"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// answer is the result of a dry run.
type answer struct {
	// object is the one that would be stored, with the mode label as without this dry run.
	object ownership.Object
	// unsent reports whether the apply changes nothing, so that kubectl sends no request.
	unsent bool
	// answered reports whether handoff has answered with warnings, which are those. Warnings about a Secret can be hidden.
	answered bool
	warnings []string
}

// mark is what a dry run appends to a last-applied annotation that the apply does not change. A dry run that does not send the
// annotation can also be a kubectl diff, of any other manifest.
const mark = " "

// send sends a dry run of the apply as kubectl would, and with the mode label if mode is not empty.
func (t *trial) send(ctx context.Context, mode optin.Mode) (a answer, err error) {
	sent, err := t.sent(mode)
	if err != nil {
		return a, err
	}
	heard := false
	ctx = source.WithWarnings(ctx, func(text string) bool {
		heard = true
		isOurs := strings.HasPrefix(text, protocol.WarningPrefix)
		if isOurs {
			a.warnings = append(a.warnings, text)
		}
		return isOurs || mode != ""
	})
	dryRun := []string{metav1.DryRunAll}
	var stored *unstructured.Unstructured
	if t.preview.Creates && !t.options.ServerSide {
		stored, err = t.application.Resource.Create(ctx, sent, metav1.CreateOptions{
			FieldManager: t.options.manager(), DryRun: dryRun, FieldValidation: t.options.Validate,
		})
	} else {
		patch, kind, patchErr := t.patch(sent)
		if patchErr != nil {
			return a, patchErr
		}
		if string(patch) == "{}" {
			return answer{object: t.application.Subject.Object, unsent: true}, nil
		}
		options := metav1.PatchOptions{FieldManager: t.options.manager(), DryRun: dryRun, FieldValidation: t.options.Validate}
		if t.options.ServerSide {
			// Another manager may own the label. Other conflicts have been reported by the dry run without it.
			options.Force = new(t.options.ForceConflicts || mode != "")
		}
		stored, err = t.application.Resource.Patch(ctx, t.application.Subject.Name, kind, patch, options)
	}
	if err != nil {
		return a, t.classify(err)
	}
	a.answered = len(a.warnings) > 0 || t.application.Subject.IsSecret() && heard
	if applied, marked := strings.CutSuffix(lastApplied(stored), mark); marked && !t.options.ServerSide {
		setLastApplied(stored, applied)
	}
	if mode != "" {
		t.restoreLabel(stored)
	}
	a.object, err = source.Parse(stored)
	return a, err
}

// patch returns the patch of an apply, {} if a client-side apply changes nothing.
func (t *trial) patch(sent *unstructured.Unstructured) (text []byte, kind types.PatchType, err error) {
	manifest, err := json.Marshal(sent.Object)
	if err != nil || t.options.ServerSide {
		return manifest, types.ApplyPatchType, err
	}
	base, _ := t.application.Subject.Object.Annotation(ownership.LastAppliedAnnotation).String()
	text, kind, err = t.application.Subject.ApplyPatch([]byte(base), manifest, t.application.Subject.Object.Text())
	if err == nil && string(text) != "{}" && lastApplied(sent) == base {
		setLastApplied(sent, base+mark)
		return t.patch(sent)
	}
	return text, kind, err
}

// sent returns the manifest as kubectl sends it: with itself in the last-applied annotation for a client-side apply. If mode is not
// empty, it has the mode label.
func (t *trial) sent(mode optin.Mode) (*unstructured.Unstructured, error) {
	sent := t.application.Manifest.DeepCopy()
	if !t.options.ServerSide {
		// As in GetModifiedConfiguration (k8s.io/kubectl/pkg/util/apply.go): with an annotations map, even if it is empty, and with
		// a trailing newline. SetAnnotations would remove an empty map.
		annotations := labels.Merge(sent.GetAnnotations(), nil)
		delete(annotations, ownership.LastAppliedAnnotation)
		if err := unstructured.SetNestedStringMap(sent.Object, annotations, "metadata", "annotations"); err != nil {
			return nil, err
		}
		text, err := sent.MarshalJSON()
		if err != nil {
			return nil, err
		}
		setLastApplied(sent, string(text))
	}
	if mode != "" {
		sent.SetLabels(labels.Merge(sent.GetLabels(), labels.Set{optin.Label: string(mode)}))
	}
	return sent, nil
}

// restoreLabel sets the mode label of a stored object to that of the object after the apply as it is, or else of the live one.
func (t *trial) restoreLabel(stored *unstructured.Unstructured) {
	like := t.with
	if !like.Present() {
		like = t.application.Subject.Object
	}
	set := labels.Merge(stored.GetLabels(), nil)
	delete(set, optin.Label)
	if label, labeled := like.ModeLabel(); labeled {
		set[optin.Label] = label
	}
	if len(set) == 0 {
		set = nil
	}
	stored.SetLabels(set)
}

func lastApplied(o *unstructured.Unstructured) string {
	return o.GetAnnotations()[ownership.LastAppliedAnnotation]
}

func setLastApplied(o *unstructured.Unstructured, text string) {
	o.SetAnnotations(labels.Merge(o.GetAnnotations(), labels.Set{ownership.LastAppliedAnnotation: text}))
}
