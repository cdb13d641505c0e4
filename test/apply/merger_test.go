package apply_test

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge"
)

// merger is merge.ThreeWayJSON, or something that a test tries in its place.
type merger func(base, manifest, live []byte, schema merge.Schema) ([]byte, error)

// threeWay merges texts, and holds that decoded values merge the same way.
func threeWay(base, manifest, live []byte, schema merge.Schema) ([]byte, error) {
	result, err := merge.ThreeWayJSON(base, manifest, live, schema, merge.Options{})
	if err != nil {
		return nil, err
	}
	var inputs [4]map[string]any
	for i, text := range [][]byte{base, manifest, live, result} {
		if err := utiljson.Unmarshal(text, &inputs[i]); err != nil {
			return nil, err
		}
	}
	decoded, err := merge.ThreeWay(inputs[0], inputs[1], inputs[2], schema, merge.Options{})
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(inputs[3], decoded); diff != "" {
		return nil, fmt.Errorf("decoded values merge otherwise (-text +decoded):\n%s", diff)
	}
	return result, nil
}

// schemaOf returns the schema by which kubectl apply merges an object: that of its Go type where there is one.
func schemaOf(o *unstructured.Unstructured) merge.Schema {
	typed, err := clientgoscheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return merge.JSONMergePatch()
	}
	var types merge.Types
	return types.Of(typed)
}
