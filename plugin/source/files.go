package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// inFiles reads the objects in files that match a selector.
func inFiles(ctx context.Context, in io.Reader, from resource.FilenameOptions, selector string) ([]*unstructured.Unstructured, error) {
	if from.Kustomize != "" && (len(from.Filenames) > 0 || from.Recursive) {
		return nil, errors.New("-k cannot be combined with -f or -R; omit one of them")
	}
	texts, err := ReadTexts(ctx, in, from.Filenames, from.Recursive)
	if err != nil {
		return nil, err
	}
	builder := resource.NewLocalBuilder().Unstructured().LabelSelectorParam(selector)
	for _, text := range texts {
		inUTF8 := transform.NewReader(bytes.NewReader(text.Content), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
		builder = builder.Stream(inUTF8, text.Name)
	}
	if len(texts) == 0 && from.Kustomize == "" { // an empty directory
		return nil, nil
	}
	infos, err := builder.FilenameParam(false, &resource.FilenameOptions{Kustomize: from.Kustomize}).Flatten().Do().Infos()
	if err != nil {
		return nil, locate(err, texts)
	}
	return unstructuredOf(infos)
}

// isType reports whether a word is the singular or plural name of a kind, with or without its group.
func isType(kind schema.GroupVersionKind, word string) bool {
	word, group, qualified := strings.Cut(strings.ToLower(word), ".")
	singular := strings.ToLower(kind.Kind)
	return (word == singular || word == singular+"s" || word == singular+"es") && (!qualified || group == kind.Group)
}

var errEmpty = errors.New("the files contain no objects; write them with kubectl get -o yaml --show-managed-fields")

// files is the origin of objects in files.
type files struct {
	objects []*unstructured.Unstructured
	crds    map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition // by the kinds that they define
}

// newFiles reads files.
func (r Reader) newFiles(ctx context.Context) (*files, error) {
	objects, err := inFiles(ctx, r.In, r.Files, "")
	if err != nil {
		return nil, err
	}
	f := &files{objects: objects, crds: map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{}}
	for _, o := range f.of(crdKind()) {
		crd, err := convert[apiextensionsv1.CustomResourceDefinition](o)
		if err != nil {
			return nil, err
		}
		f.crds[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = crd
	}
	return f, nil
}

// of returns the objects of a kind.
func (f *files) of(kind schema.GroupKind) (objects []*unstructured.Unstructured) {
	for _, o := range f.objects {
		if o.GroupVersionKind().GroupKind() == kind {
			objects = append(objects, o)
		}
	}
	return objects
}

func hpaKind() schema.GroupKind {
	return schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
}

func crdKind() schema.GroupKind {
	return schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// chosen implements origin. TYPE/NAME is matched without an API server to resolve types.
func (f *files) chosen(r Reader, names []string, _ string) (objects []*unstructured.Unstructured, gaps []string, err error) {
	if len(f.objects) == 0 {
		return nil, nil, errEmpty
	}
	selector, err := labels.Parse(r.Selector)
	if err != nil {
		return nil, nil, err
	}
	kind, name, isNamed := strings.Cut(strings.Join(names, " "), "/")
	if len(names) > 1 || len(names) > 0 && !isNamed {
		return nil, nil, fmt.Errorf("%s: with -f, name one object as TYPE/NAME", strings.Join(names, " "))
	}
	var contained []string
	for _, o := range f.objects {
		isChosen := !isNamed || o.GetName() == name && isType(o.GroupVersionKind(), kind)
		if isChosen && selector.Matches(labels.Set(o.GetLabels())) {
			objects = append(objects, o)
		}
		contained = append(contained, nameOf(o.GroupVersionKind(), o.GetName()))
	}
	if isNamed && objects == nil {
		return nil, nil, fmt.Errorf("%s not found in the files; they contain %s", names[0], strings.Join(contained, ", "))
	}
	return objects, nil, nil
}

// get implements origin. Without a namespace, the name must be unique.
func (f *files) get(_ context.Context, id Identity, namespace string) (found *unstructured.Unstructured, err error) {
	namespace = cmp.Or(id.Namespace, namespace)
	for _, o := range f.objects {
		same := o.GroupVersionKind().GroupKind() == id.Kind.GroupKind() && o.GetName() == id.Name
		if !same || namespace != "" && o.GetNamespace() != "" && o.GetNamespace() != namespace {
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

// list implements origin. A kind of which the files contain no object may be installed nevertheless. That is a gap only for
// HorizontalPodAutoscalers, because most clusters do not have the others, but their managers then count by their names.
func (f *files) list(
	_ context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject,
) (read access, err error) {
	all := f.of(kind)
	if read.complete = len(all) > 0; kind == hpaKind() && !read.complete {
		read.because, read.remedy = ", because the files contain none", "if there are any, add them: kubectl get hpa -o yaml"
	}
	isOther := func(o *unstructured.Unstructured) bool {
		return namespace != "" && o.GetNamespace() != namespace || !selector.Matches(labels.Set(o.GetLabels()))
	}
	chosen := slices.DeleteFunc(all, isOther)
	for i, o := range chosen {
		if err := visit(o, int64(len(chosen)-i-1)); err != nil {
			return read, err
		}
	}
	return read, nil
}

// definition implements origin.
func (f *files) definition(
	_ context.Context, kind schema.GroupKind,
) (crd *apiextensionsv1.CustomResourceDefinition, gap string, err error) {
	if crd = f.crds[kind]; crd == nil && !builtin(kind.Group) {
		gap = fmt.Sprintf("unknown which field an autoscaler sets; add the CustomResourceDefinition of %s to the files", kind.Kind)
	}
	return crd, gap, nil
}

// scalable implements origin.
func (f *files) scalable(kind schema.GroupKind) (scales, known bool) {
	crd := f.crds[kind]
	if crd == nil {
		return scale.Known(kind.Group, kind.Kind) != nil, builtin(kind.Group)
	}
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Subresources != nil && v.Subresources.Scale != nil
	}), true
}

// surveyed implements origin. Without types, these are not the kinds that only provide facts about others.
func (f *files) surveyed(types []string, scalers []scale.Kind) (kinds []resourceKind, gaps []string, err error) {
	if len(f.objects) == 0 {
		return nil, nil, errEmpty
	}
	for _, word := range types {
		isOf := func(o *unstructured.Unstructured) bool { return isType(o.GroupVersionKind(), word) }
		if !slices.ContainsFunc(f.objects, isOf) {
			return nil, nil, fmt.Errorf("the files contain no %s; write types in full, such as deployments, or omit them", word)
		}
	}
	auxiliary := []schema.GroupKind{hpaKind(), crdKind(), {Kind: "Namespace"}}
	for _, scaler := range scalers {
		if !scaler.IsWorkload() {
			auxiliary = append(auxiliary, scaler.GroupKind)
		}
	}
	for _, o := range f.objects {
		kind := o.GroupVersionKind()
		isNamed := slices.ContainsFunc(types, func(word string) bool { return isType(kind, word) })
		isListed := func(k resourceKind) bool { return k.gvk.GroupKind() == kind.GroupKind() }
		if (isNamed || len(types) == 0 && !slices.Contains(auxiliary, kind.GroupKind())) && !slices.ContainsFunc(kinds, isListed) {
			kinds = append(kinds, resourceKind{gvk: kind})
		}
	}
	return kinds, nil, nil
}

// builtin reports whether a group belongs to Kubernetes. Other groups have their own domain.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
