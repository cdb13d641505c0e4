package installation

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/plugin/source"
)

var (
	errInFiles = errors.New("the objects are in files")
	namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")
)

// request is a request for the object with a name, or for those that a selector selects, or, without a resource, a dry run.
type request struct {
	resource                  schema.GroupVersionResource
	namespace, name, selector string
}

// response is what a request has returned.
type response struct {
	content any
	err     error
}

// once makes a request, unless its response is known.
func once[T any](in *Installation, what request, read func() (T, error)) (T, error) {
	known, ok := in.read[what]
	switch {
	case ok:
	case in.OfFiles():
		known.err = errInFiles
	default:
		known.content, known.err = read()
		in.read[what] = known
	}
	content, _ := known.content.(T)
	return content, known.err
}

// Get reads an object of the cluster into a type of Kubernetes.
func Get[T any](ctx context.Context, in *Installation, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	return once(in, request{resource: resource, namespace: namespace, name: name}, func() (*T, error) {
		o, err := in.objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return source.Convert[T](o)
	})
}

// List reads the objects of the cluster that a label selector selects into a type of Kubernetes, in pages.
func List[T any](ctx context.Context, in *Installation, resource schema.GroupVersionResource, namespace, selector string) ([]T, error) {
	return once(in, request{resource: resource, namespace: namespace, selector: selector}, func() (all []T, err error) {
		err = source.List(ctx, in.objects.Resource(resource).Namespace(namespace), selector, func(o *unstructured.Unstructured) error {
			one, err := source.Convert[T](o)
			if err == nil {
				all = append(all, *one)
			}
			return err
		})
		return all, err
	})
}

// Namespace reads a namespace.
func (in *Installation) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return Get[corev1.Namespace](ctx, in, namespaces, "", name)
}

// Namespaces reads all namespaces that a selector selects.
func (in *Installation) Namespaces(ctx context.Context, selector string) ([]corev1.Namespace, error) {
	all, err := List[corev1.Namespace](ctx, in, namespaces, "", selector)
	for i := range all {
		in.read[request{resource: namespaces, name: all[i].Name}] = response{content: &all[i]}
	}
	return all, err
}

// AddNamespace adds a namespace of files. Its label follows its annotation, as the webhook sees to.
func (in *Installation) AddNamespace(o *unstructured.Unstructured) {
	mode, annotated := o.GetAnnotations()[optin.Annotation]
	if label, labeled := optin.NamespaceLabel(mode, annotated); labeled {
		o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{optin.Label: label}))
	}
	namespace, err := source.Convert[corev1.Namespace](o)
	in.read[request{resource: namespaces, name: o.GetName()}] = response{namespace, err}
}
