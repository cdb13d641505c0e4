package source

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// ApplyPatch returns the patch that kubectl apply sends, and its type (k8s.io/kubectl/pkg/cmd/apply/patcher.go). It is {} if
// the apply changes nothing.
func (s Subject) ApplyPatch(base, manifest, live []byte) (patch []byte, kind types.PatchType, err error) {
	patch, _, err = s.applyPatch(base, manifest, live)
	if kind = types.StrategicMergePatchType; !scheme.Scheme.Recognizes(s.Kind) {
		kind = types.MergePatchType
	}
	return patch, kind, err
}

// ThreeWay returns the live object after kubectl apply.
func (s Subject) ThreeWay(base, manifest, live []byte) (merged []byte, err error) {
	patch, meta, err := s.applyPatch(base, manifest, live)
	switch {
	case err != nil:
		return nil, err
	case meta == nil:
		merged, err = jsonpatchv4.MergePatch(live, patch)
	default:
		merged, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, meta)
	}
	return merged, s.mergeError(err)
}

// applyPatch returns the patch and the schema of built-in kinds, nil for others.
func (s Subject) applyPatch(base, manifest, live []byte) (patch []byte, meta strategicpatch.LookupPatchMeta, err error) {
	object, unknown := scheme.Scheme.New(s.Kind)
	if unknown != nil {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(base, manifest, live, mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"), mergepatch.RequireMetadataKeyUnchanged("name"))
	} else if meta, err = strategicpatch.NewPatchMetaFromStruct(object); err == nil {
		patch, err = strategicpatch.CreateThreeWayMergePatch(orEmpty(base), manifest, live, meta, true)
	}
	return patch, meta, s.mergeError(err)
}

// mergeError returns the error of a merge. The errors of the libraries can quote the object.
func (s Subject) mergeError(err error) error {
	switch {
	case err == nil:
		return nil
	case mergepatch.IsPreconditionFailed(err):
		return errors.New("the manifest has another apiVersion, kind or name than the live object")
	case s.IsSecret():
		return errors.New("merging as kubectl apply does: the manifest does not have the types of a Secret")
	default:
		return fmt.Errorf("merging as kubectl apply does: %w", err)
	}
}

// Schema returns the schema by which kubectl apply merges the object: that of the Go type for built-in kinds
// (k8s.io/kubectl/pkg/cmd/apply/patcher.go), otherwise that of a JSON merge patch.
func (s Subject) Schema() schema.Schema {
	object, err := scheme.Scheme.New(s.Kind)
	if err != nil {
		return schema.JSONMergePatch()
	}
	return new(schema.Types).Of(object)
}

func orEmpty(text []byte) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("{}")
	}
	return text
}
