package apply_test

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// merger is threeway.Merge or a wrong merge.
type merger func(base, manifest, live []byte, place schema.Schema) ([]byte, error)

func threeWay(base, manifest, live []byte, place schema.Schema) ([]byte, error) {
	return threeway.Merge(base, manifest, live, place, threeway.Options{})
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
