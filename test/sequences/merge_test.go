package sequences_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// merged returns what is stored if the object is replaced by what threeway.Merge makes of an apply, nil if the merge does not make
// anything of it. It is a dry run, which needs the object as it was before the apply.
func (s *side) merged(ctx context.Context, w step) (*stored, error) {
	if w.verb != apply || w.version != "" {
		return nil, nil
	}
	declared := s.kind.object(w, s.name, s.namespace)
	if err := record(declared); err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(declared)
	if err != nil {
		return nil, err
	}
	live, err := s.live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	text, err := threeway.Merge([]byte(s.live.GetAnnotations()[lastApplied]), manifest, live, schemaOf(s.live), threeway.Options{})
	var refused *threeway.InputError
	if errors.As(err, &refused) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if err := cluster.client.Update(ctx, o, client.DryRunAll, client.FieldOwner(clientSide)); err != nil {
		return &stored{base: err.Error()}, nil //nolint:nilerr // the refusal is what the apply is compared with
	}
	found, err := storedOf(o)
	return &found, err
}

// schemaOf returns the schema that kubectl apply uses for an object: that of its Go type if there is one.
func schemaOf(o *unstructured.Unstructured) schema.Schema {
	typed, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return schema.JSONMergePatch()
	}
	var types schema.Types
	return types.Of(typed)
}

// checkMerge compares what an apply without handoff has stored with a merge.
func (o *observation) checkMerge(merged *stored) (found []finding) {
	if merged == nil || o.twinErr != nil || o.twinUnsent && merged.object == nil { // the API server would refuse what is stored
		return nil
	}
	if d := compare(*merged, o.twin); len(d.values) > 0 || len(d.base) > 0 || d.other != "" {
		at := fmt.Sprint(d.values, d.base, d.other)
		found = append(found, finding{checkMerged, at, short(fmt.Sprintf("merged: %s %s\nstored: %s %s", text(merged.object), merged.base, text(o.twin.object), o.twin.base))})
	}
	return found
}
