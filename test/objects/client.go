package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Reader reads objects as kubectl get does, and patches them as kubectl patch does, without a process for each: tests read after
// every write.
type Reader struct {
	kinds  *restmapper.DeferredDiscoveryRESTMapper
	mapper meta.RESTMapper // knows short names as well
	client dynamic.Interface
}

// NewReader returns a reader for an API server.
func NewReader(config *rest.Config) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	cached := memory.NewMemCacheClient(kinds)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	return &Reader{kinds: mapper, mapper: restmapper.NewShortcutExpander(mapper, cached, nil), client: client}, nil
}

// Get reads an object. kind is in the syntax of kubectl, as deployment, hpa or widgets.v1.example.com. The namespace of an object
// that has none does not matter.
func (r *Reader) Get(ctx context.Context, namespace, kind, name string) (*unstructured.Unstructured, error) {
	at, err := r.of(namespace, kind)
	if err != nil {
		return nil, err
	}
	return at.Get(ctx, name, metav1.GetOptions{})
}

// Patch patches an object, or its subresource, in the name of a field manager.
func (r *Reader) Patch(
	ctx context.Context, namespace, kind, name string, how types.PatchType, patch, manager string, subresources ...string,
) error {
	at, err := r.of(namespace, kind)
	if err != nil {
		return err
	}
	_, err = at.Patch(ctx, name, how, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresources...)
	return err
}

// of returns the client for the objects of a kind.
func (r *Reader) of(namespace, kind string) (dynamic.ResourceInterface, error) {
	full, partial := schema.ParseResourceArg(strings.ToLower(kind))
	if full == nil {
		full = &schema.GroupVersionResource{Group: partial.Group, Resource: partial.Resource}
	}
	found, err := r.kindOf(*full, partial)
	if meta.IsNoMatchError(err) {
		r.kinds.Reset() // the kind may be new
		found, err = r.kindOf(*full, partial)
	}
	if err != nil {
		return nil, fmt.Errorf("kind %s: %w", kind, err)
	}
	mapping, err := r.mapper.RESTMapping(found.GroupKind(), found.Version)
	if err != nil {
		return nil, fmt.Errorf("kind %s: %w", kind, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return r.client.Resource(mapping.Resource), nil
	}
	return r.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// kindOf returns the kind of a resource, whose version can be part of the name of its group.
func (r *Reader) kindOf(full schema.GroupVersionResource, partial schema.GroupResource) (schema.GroupVersionKind, error) {
	found, err := r.mapper.KindFor(full)
	if err != nil {
		return r.mapper.KindFor(partial.WithVersion(""))
	}
	return found, nil
}

// JSONPath returns what kubectl get -o jsonpath prints of an object.
func JSONPath(t *testing.T, o *unstructured.Unstructured, path string) string {
	t.Helper()
	printer, err := printers.NewJSONPathPrinter("{" + path + "}")
	if err != nil {
		t.Fatal(err)
	}
	printer.AllowMissingKeys(true)
	var text strings.Builder
	if err := printer.PrintObj(o, &text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

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
	lookup, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return "", nil, err
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], lookup, true)
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
