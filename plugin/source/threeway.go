package source

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/jsontree"
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

// Changes returns a function that reports whether kubectl apply of a manifest changes the live value at a path, as far as the merge shows:
// it knows no defaults. If kubectl apply fails, it changes nothing.
func (s Subject) Changes(base, manifest []byte) func(fieldpath.Path) bool {
	live := s.Object.At()
	merged, err := s.ThreeWay(base, manifest, s.Object.Text())
	if err != nil {
		return func(fieldpath.Path) bool { return false }
	}
	after := jsontree.Valid(merged)
	return func(path fieldpath.Path) bool {
		was, is := live.Find(path), after.Find(path)
		return (was != nil || is != nil) && !apitypes.SameValue(was.Text(), is.Text())
	}
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
