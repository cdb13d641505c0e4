package source

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// origin is where objects are read from: a cluster, or files.
type origin interface {
	// get returns an object, nil if it does not exist. A namespace that is missing in the identity is the given one.
	get(ctx context.Context, id Identity, namespace string) (*unstructured.Unstructured, error)
	// list calls visit for the objects of a kind in a namespace or, if it is empty, in all.
	list(ctx context.Context, kind schema.GroupKind, namespace string, visit func(*unstructured.Unstructured) error) (access, error)
	// scaleField returns the scale field of a custom resource.
	scaleField(ctx context.Context, kind schema.GroupVersionKind) (scaleField, error)
	// scalable reports whether a kind has a scale subresource; known is false if that cannot be determined.
	scalable(kind schema.GroupKind) (scales, known bool)
}

// access is whether the objects of a kind could be read.
type access struct {
	// complete reports whether no object is missing: all have been read, or the kind is not installed.
	complete bool
	// because and remedy describe why objects could be missing. Both are empty if that is not worth a gap.
	because, remedy string
}

// UnknownMode is the mode of a namespace that could not be read.
const UnknownMode ownership.Mode = "unknown"

// modeOf returns the mode in a namespace's annotation.
func modeOf(namespace *unstructured.Unstructured) ownership.Mode {
	text, annotated := namespace.GetAnnotations()[ownership.ModeAnnotation]
	mode, _ := ownership.ModeOf(text, annotated)
	return mode
}

// convert returns an object as a type of Kubernetes.
func convert[T any](o *unstructured.Unstructured) (*T, error) {
	to := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, to); err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return to, nil
}

// scaleField is the scale field of a kind: in one version, and in any.
type scaleField struct {
	path fieldpath.Path
	in   ownership.ScalePaths
	gap  string
}

// scaleFieldOf returns the scale field of a kind, as its CustomResourceDefinitions declare it.
func scaleFieldOf(crds []apiextensionsv1.CustomResourceDefinition, kind schema.GroupVersionKind) (field scaleField) {
	field.in = func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return scale.Declared(crds, gv.Group, gv.Version, kind.Kind)
	}
	field.path = field.in(kind.GroupVersion().String())
	return field
}

// facts are what other objects say about subjects. Those of each namespace and each kind are read once.
type facts struct {
	from        origin
	who         who
	scales      map[schema.GroupVersionKind]scaleField
	byNamespace map[string]*scalers
	// everywhere reads the scalers of all namespaces at once. Users without that permission read them by namespace.
	everywhere bool
}

func newFacts(from origin, c config.HandoffConfiguration) (*facts, error) {
	w, err := whoOf(c)
	return &facts{from: from, who: w, scales: map[schema.GroupVersionKind]scaleField{}, byNamespace: map[string]*scalers{}}, err
}

// scaleOf returns the scale field of a kind.
func (f *facts) scaleOf(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	if path := scale.Known(kind.Group, kind.Kind); path != nil {
		return scaleField{path: path, in: func(string) fieldpath.Path { return path }}, nil
	}
	field, known := f.scales[kind]
	if !known {
		if field, err = f.from.scaleField(ctx, kind); err == nil {
			f.scales[kind] = field
		}
	}
	return field, err
}

// subject returns the subject of an object, with its scale field and its scaler.
func (f *facts) subject(ctx context.Context, o *unstructured.Unstructured) (Subject, error) {
	s, err := newSubject(o, f.who)
	if err != nil {
		return s, err
	}
	err = f.complete(ctx, &s)
	return s, err
}

// complete adds the scale field and the scaler to a subject.
func (f *facts) complete(ctx context.Context, s *Subject) error {
	field, err := f.scaleOf(ctx, s.Kind)
	s.setScale(field)
	if field.gap != "" {
		s.gap("%s", field.gap)
	}
	if err != nil || field.path == nil {
		return err
	}
	near, err := f.scalersIn(ctx, s.Namespace)
	if err != nil {
		return err
	}
	for _, kind := range near.unread {
		s.gap("unknown whether a %s targets it%s; %s", kind.name, kind.read.because, kind.read.remedy)
	}
	s.scaledBy(near)
	return nil
}

// scalersIn returns the scalers of a namespace, possibly with those of others.
func (f *facts) scalersIn(ctx context.Context, namespace string) (*scalers, error) {
	if f.everywhere && namespace != "" {
		if all, err := f.scalersIn(ctx, ""); err != nil || len(all.unread) == 0 {
			return all, err
		}
	}
	if read := f.byNamespace[namespace]; read != nil {
		return read, nil
	}
	read := newScalers()
	err := read.read(ctx, f.from, f.who.scalers, namespace, func(*Autoscaler, map[string]string) {})
	f.byNamespace[namespace] = read
	return read, err
}
