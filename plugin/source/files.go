package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// ReadFiles reads the objects in files that match a selector, as kubectl does.
func ReadFiles(in io.Reader, from resource.FilenameOptions, selector string) ([]*unstructured.Unstructured, error) {
	builder := resource.NewLocalBuilder().Unstructured().LabelSelectorParam(selector)
	if all := len(from.Filenames); all > 0 {
		from.Filenames = slices.DeleteFunc(slices.Clone(from.Filenames), func(name string) bool { return name == "-" })
		if len(from.Filenames) < all {
			builder = builder.Stream(in, "standard input")
		}
	}
	infos, err := builder.FilenameParam(false, &from).Flatten().Do().Infos()
	if err != nil {
		return nil, readError(err)
	}
	return unstructuredOf(infos), nil
}

// isType reports whether a word is the singular or plural name of a kind, with or without its group.
func isType(kind schema.GroupVersionKind, word string) bool {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	is := schema.ParseGroupResource(strings.ToLower(word))
	return (is.Resource == plural.Resource || is.Resource == singular.Resource) && (is.Group == "" || is.Group == kind.Group)
}

var errEmpty = errors.New("the files contain no objects; write them with kubectl get -o yaml --show-managed-fields")

// fileOrigin is the origin of objects in files.
type fileOrigin struct {
	objects []*unstructured.Unstructured
	scalers []scale.Kind
}

// of returns the objects of a kind.
func (f *fileOrigin) of(kind schema.GroupKind) (objects []*unstructured.Unstructured) {
	for _, o := range f.objects {
		if o.GroupVersionKind().GroupKind() == kind {
			objects = append(objects, o)
		}
	}
	return objects
}

// chosen matches TYPE/NAME without an API server to resolve types.
func (f *fileOrigin) chosen(r *Reader, names []string) (objects []*unstructured.Unstructured, gaps []string, err error) {
	if len(f.objects) == 0 {
		return nil, nil, errEmpty
	}
	kind, name, isNamed := strings.Cut(strings.Join(names, " "), "/")
	if len(names) > 1 || len(names) > 0 && !isNamed {
		return nil, nil, fmt.Errorf("%s: with -f, name one object as TYPE/NAME", strings.Join(names, " "))
	}
	for _, o := range f.objects {
		isChosen := !isNamed || o.GetName() == name && isType(o.GroupVersionKind(), kind)
		if isChosen && r.selector.Matches(labels.Set(o.GetLabels())) {
			objects = append(objects, o)
		}
	}
	if isNamed && objects == nil {
		return nil, nil, fmt.Errorf("%s not found in the files; omit it to read all objects", names[0])
	}
	return objects, nil, nil
}

// get without a namespace requires a unique name.
func (f *fileOrigin) get(_ context.Context, id Identity, namespace string) (found *unstructured.Unstructured, err error) {
	namespace = cmp.Or(id.Namespace, namespace)
	for _, o := range f.of(id.Kind.GroupKind()) {
		if o.GetName() != id.Name || namespace != "" && o.GetNamespace() != "" && o.GetNamespace() != namespace {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: the files contain it in namespaces %s and %s; select one with -n",
				id, found.GetNamespace(), o.GetNamespace())
		}
		found = o
	}
	return found, nil
}

// list knows nothing about a kind of which the files contain no object: it may be installed nevertheless. That is a gap only for
// HorizontalPodAutoscalers, because most clusters do not have the others, but their managers then count by their names.
func (f *fileOrigin) list(
	_ context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject,
) (complete bool, why string, err error) {
	all := f.of(kind)
	if kind == hpaKind && len(all) == 0 {
		why = ", because the files contain none; if there are any, add them: kubectl get hpa -o yaml"
	}
	for _, o := range all {
		isOther := namespace != "" && o.GetNamespace() != namespace || !selector.Matches(labels.Set(o.GetLabels()))
		if err == nil && !isOther {
			err = visit(o)
		}
	}
	return len(all) > 0, why, err
}

// kind knows a kind by its CustomResourceDefinition.
func (f *fileOrigin) kind(of schema.GroupKind) (known *Resource, gap string) {
	for _, o := range f.of(crdKind.GroupKind()) {
		name, group, _ := strings.Cut(o.GetName(), ".")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		if is := (schema.GroupKind{Group: group, Kind: kind}); is == of {
			return &Resource{Kind: is.WithVersion(""), Name: schema.GroupVersionResource{Group: group, Resource: name}, Scales: true}, ""
		}
	}
	if !builtin(of.Group) {
		gap = "; add the CustomResourceDefinition of " + of.Kind + " to the files"
	}
	return nil, gap
}

// surveyed returns all kinds but those that only provide facts about others.
func (f *fileOrigin) surveyed(types []string) (kinds []*Resource, gaps []string, err error) {
	switch {
	case len(f.objects) == 0:
		return nil, nil, errEmpty
	case len(types) > 0:
		return nil, nil, fmt.Errorf("%s: types cannot be combined with -f; omit them", strings.Join(types, " "))
	}
	known := map[schema.GroupKind]bool{hpaKind: true, crdKind.GroupKind(): true, {Kind: "Namespace"}: true}
	for _, scaler := range f.scalers {
		known[scaler.GroupKind] = !scaler.IsWorkload()
	}
	for _, o := range f.objects {
		kind := o.GroupVersionKind()
		if !known[kind.GroupKind()] {
			known[kind.GroupKind()] = true
			name, _ := meta.UnsafeGuessKindToResource(kind)
			kinds = append(kinds, &Resource{Kind: kind, Name: name, Scales: scale.Known(kind.Group, kind.Kind) != nil || !builtin(kind.Group)})
		}
	}
	return kinds, nil, nil
}

// builtin reports whether a group belongs to Kubernetes. Other groups have their own domain.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
