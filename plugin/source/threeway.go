package source

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/threeway"
)

// ThreeWay returns the live object after kubectl apply. It uses threeway.MergeJSON, or kubectl's own library for lists in which
// two elements share a merge key, such as ports of one number and two protocols.
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
