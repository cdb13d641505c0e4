package apply_test

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// merger is threeway.MergeJSON or a wrong merge.
type merger func(base, manifest, live []byte, place schema.Schema) ([]byte, error)

// threeWay merges JSON texts, and verifies that decoded values merge the same way.
func threeWay(base, manifest, live []byte, place schema.Schema) ([]byte, error) {
	result, err := threeway.MergeJSON(base, manifest, live, place, threeway.Options{})
	if err != nil {
		return nil, err
	}
	var inputs [4]map[string]any
	for i, text := range [][]byte{base, manifest, live, result} {
		if err := utiljson.Unmarshal(text, &inputs[i]); err != nil {
			return nil, err
		}
	}
	decoded, err := threeway.Merge(inputs[0], inputs[1], inputs[2], place, threeway.Options{})
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(inputs[3], decoded); diff != "" {
		return nil, fmt.Errorf("decoded values merge differently (-text +decoded):\n%s", diff)
	}
	return result, nil
}

// schemaOf returns the schema that kubectl apply uses for an object: that of its Go type if there is one.
func schemaOf(o *unstructured.Unstructured) schema.Schema {
	typed, err := clientgoscheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return schema.JSONMergePatch()
	}
	var types schema.Types
	return types.Of(typed)
}
