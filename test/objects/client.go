package objects

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// ThreeWayPatch returns the patch that kubectl apply and Helm send for a live object: from the manifest that was applied last, nil if
// there is none, to the next one.
func ThreeWayPatch(last, next map[string]any, live *unstructured.Unstructured) (format types.PatchType, patch []byte, err error) {
	var texts [3][]byte
	for i, o := range []map[string]any{last, next, live.Object} {
		if o == nil {
			continue
		}
		if texts[i], err = json.Marshal(o); err != nil {
			return "", nil, err
		}
	}
	typed, err := scheme.Scheme.New(live.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[2])
		return types.MergePatchType, patch, err
	}
	if err != nil {
		return "", nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return "", nil, err
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], meta, true)
	return types.StrategicMergePatchType, patch, err
}

// warningsKey is the key of a context's *[]string.
type warningsKey struct{}

// WithWarnings returns a context for requests of a client with Warnings, whose warnings are added to a list.
func WithWarnings(ctx context.Context, to *[]string) context.Context {
	return context.WithValue(ctx, warningsKey{}, to)
}

// Warnings is the handler of a client's warnings for WithWarnings.
type Warnings struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (Warnings) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if to, ok := ctx.Value(warningsKey{}).(*[]string); ok {
		*to = append(*to, text)
	}
}
