package source

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// ApplyPatch returns the patch that kubectl apply sends (k8s.io/kubectl/pkg/cmd/apply/patcher.go), and its type. It is {} if the apply
// changes nothing.
func (s Subject) ApplyPatch(base, manifest, live []byte) (patch []byte, kind types.PatchType, err error) {
	object, unknown := scheme.Scheme.New(s.Kind)
	if unknown != nil {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(base, manifest, live, mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"), mergepatch.RequireMetadataKeyUnchanged("name"))
		return patch, types.MergePatchType, s.mergeError(err)
	}
	if len(base) == 0 {
		base = []byte("{}")
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err == nil {
		patch, err = strategicpatch.CreateThreeWayMergePatch(base, manifest, live, meta, true)
	}
	return patch, types.StrategicMergePatchType, s.mergeError(err)
}

// ThreeWay returns the live object after kubectl apply.
func (s Subject) ThreeWay(base, manifest, live []byte) ([]byte, error) {
	merged, err := threeway.Merge(base, manifest, live, s.Schema(), threeway.Options{})
	return merged, s.mergeError(err)
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
