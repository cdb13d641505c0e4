package source

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/threeway"
)

// ThreeWay returns the object that kubectl apply makes of a live one: threeway.MergeJSON, but for lists of which two
// elements share the key that kubectl merges by, as ports of one number and two protocols do. Of these kubectl makes what
// its library makes.
func (s Subject) ThreeWay(base, manifest, live []byte) ([]byte, error) {
	merged, err := threeway.MergeJSON(base, manifest, live, s.Schema(), threeway.Options{})
	if !errors.Is(err, threeway.ErrDuplicate) {
		return merged, err
	}
	object, unknown := scheme.Scheme.New(s.Kind)
	if unknown != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err != nil {
		return nil, fmt.Errorf("merging as kubectl apply does: %w", err)
	}
	if len(base) == 0 {
		base = []byte("{}")
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(base, manifest, live, meta, true)
	if err != nil {
		return nil, fmt.Errorf("merging as kubectl apply does: %w", err)
	}
	if merged, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, meta); err != nil {
		return nil, fmt.Errorf("merging as kubectl apply does: %w", err)
	}
	return merged, nil
}
