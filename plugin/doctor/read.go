package doctor

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

// get reads an object for a check. It returns nil if there is none, or if it cannot be read, which is a gap.
func get[T any](ctx context.Context, d *diagnosis, namespace, name string) (o *T, absent bool) {
	o, err := installation.Get[T](ctx, d.in, resourceOf[T](d), namespace, name)
	if absent = apierrors.IsNotFound(err); err != nil && !absent {
		d.check.gap("%v", err)
	}
	return o, absent
}

// list reads objects for a check; ok is false if they cannot be read, which is a gap.
func list[T any](ctx context.Context, d *diagnosis, namespace, selector string) (all []T, ok bool) {
	all, err := installation.List[T](ctx, d.in, resourceOf[T](d), namespace, selector)
	if err != nil {
		d.check.gap("%v", err)
	}
	return all, err == nil
}

// resourceOf returns the resource of a type of Kubernetes, in the version that the API server prefers.
func resourceOf[T any](d *diagnosis) schema.GroupVersionResource {
	kinds, _, _ := scheme.Scheme.ObjectKinds(any(new(T)).(runtime.Object)) //nolint:forcetypeassert // of the scheme
	if served := d.served.Of(kinds[0].GroupKind()); served != nil {
		return served.Name
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource
}
