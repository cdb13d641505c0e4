package source

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// origin is where objects are read from: a cluster, or files. An empty namespace stands for all.
type origin interface {
	// chosen returns the objects that a reader selects. If only some can be read, the gaps are about the others.
	chosen(r Reader, names []string, namespace string) (objects []*unstructured.Unstructured, gaps []string, err error)
	// get returns an object, nil if it does not exist. A namespace that is missing in the identity is the given one.
	get(ctx context.Context, id Identity, namespace string) (*unstructured.Unstructured, error)
	// list calls visit for the objects of a kind that a selector matches.
	list(ctx context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject) (access, error)
	// definition returns the CustomResourceDefinition of a kind that can have a scale subresource, nil if there is none. The gap
	// says why the field that an autoscaler sets is unknown.
	definition(ctx context.Context, kind schema.GroupKind) (crd *apiextensionsv1.CustomResourceDefinition, gap string, err error)
	// scalable reports whether a kind has a scale subresource; known is false if that cannot be determined.
	scalable(kind schema.GroupKind) (scales, known bool)
	// surveyed returns the kinds of the given types or, without any, those whose objects are worth a survey. The gaps are about
	// kinds that are unknown.
	surveyed(types []string, scalers []scale.Kind) (kinds []resourceKind, gaps []string, err error)
}

// visitObject is called with an object and the number of those that follow, or -1 if that is unknown.
type visitObject func(o *unstructured.Unstructured, left int64) error

// access is whether the objects of a kind could be read.
type access struct {
	// complete reports whether no object is missing: all have been read, or the kind is not installed.
	complete bool
	// because and remedy describe why objects could be missing. Both are empty if that is not worth a gap.
	because, remedy string
}

// convert returns an object as a type of Kubernetes.
func convert[T any](o *unstructured.Unstructured) (*T, error) {
	to := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, to); err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return to, nil
}

func unstructuredOf(infos []*resource.Info) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, len(infos))
	for i, info := range infos {
		o, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s is a %T, not an object", info.ObjectName(), info.Object)
		}
		objects[i] = o
	}
	return objects, nil
}
