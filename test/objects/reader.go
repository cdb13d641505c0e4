package objects

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
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
