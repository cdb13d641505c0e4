package doctor

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
)

// pageSize is how many objects one request lists.
const pageSize = 500

// get reads an object into a type of Kubernetes.
func get[T any](
	ctx context.Context, objects dynamic.Interface, resource schema.GroupVersionResource, namespace, name string,
) (*T, error) {
	o, err := objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return converted[T](o)
}

// list reads objects into a type of Kubernetes, in pages.
func list[T any](
	ctx context.Context, objects dynamic.Interface, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions,
) (items []T, err error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return objects.Resource(resource).Namespace(namespace).List(ctx, o)
	})
	pages.PageSize = pageSize
	err = pages.EachListItem(ctx, o, func(item runtime.Object) error {
		o, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("listing %s: unexpected %T", resource.Resource, item)
		}
		to, err := converted[T](o)
		if err != nil {
			return err
		}
		items = append(items, *to)
		return nil
	})
	return items, err
}

func converted[T any](o *unstructured.Unstructured) (*T, error) {
	to := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, to); err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return to, nil
}

// unread adds a gap about a request that has failed: the missing permission, or the error. The argument what names the objects
// as in "get secret/tls -n handoff-system".
func (c *Check) unread(what string, err error) {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		c.gap("%s: requires permission to %s", c.Name, what)
	case errors.Is(err, context.DeadlineExceeded):
		c.gap("%s: no time was left to %s; set a longer --deadline", c.Name, what)
	default:
		c.gap("%s: could not %s: %v", c.Name, what, err)
	}
}

// isAbsent reports whether an error says that the object, or its kind, does not exist.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// named returns an object's name as in kubectl's arguments.
func named(resource, name, namespace string) string {
	if namespace == "" {
		return resource + "/" + name
	}
	return resource + "/" + name + " -n " + namespace
}
