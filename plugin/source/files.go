package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// inFiles reads the objects in the files of a query that match its selector.
func (r Reader) inFiles(ctx context.Context, q Query) ([]*unstructured.Unstructured, error) {
	if q.Files.Kustomize != "" && (len(q.Files.Filenames) > 0 || q.Files.Recursive) {
		return nil, errors.New("-k cannot be combined with -f or -R; omit one of them")
	}
	texts, err := ReadTexts(ctx, r.In, q.Files.Filenames, q.Files.Recursive)
	if err != nil {
		return nil, err
	}
	builder := resource.NewLocalBuilder().Unstructured().LabelSelectorParam(q.Selector)
	for _, text := range texts {
		inUTF8 := transform.NewReader(bytes.NewReader(text.Content), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
		builder = builder.Stream(inUTF8, text.Name)
	}
	if len(texts) == 0 && q.Files.Kustomize == "" { // an empty directory
		return nil, nil
	}
	infos, err := builder.FilenameParam(false, &resource.FilenameOptions{Kustomize: q.Files.Kustomize}).Flatten().Do().Infos()
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
	crds    []apiextensionsv1.CustomResourceDefinition
}

// newFiles reads files.
func (r Reader) newFiles(ctx context.Context, from resource.FilenameOptions) (*files, error) {
	objects, err := r.inFiles(ctx, Query{Files: from})
	if err != nil {
		return nil, err
	}
	f := &files{objects: objects}
	for _, o := range f.of(crdKind()) {
		crd, err := convert[apiextensionsv1.CustomResourceDefinition](o)
		if err != nil {
			return nil, err
		}
		f.crds = append(f.crds, *crd)
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

func namespaceKind() schema.GroupKind { return schema.GroupKind{Kind: "Namespace"} }

func crdKind() schema.GroupKind {
	return schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// chosen implements origin. TYPE/NAME is matched without an API server to resolve types.
func (f *files) chosen(q Query, _ string) (objects []*unstructured.Unstructured, gaps []string, err error) {
	if len(f.objects) == 0 {
		return nil, nil, errEmpty
	}
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, nil, err
	}
	kind, name, isNamed := strings.Cut(strings.Join(q.Objects, " "), "/")
	if len(q.Objects) > 1 || len(q.Objects) > 0 && !isNamed {
		return nil, nil, fmt.Errorf("%s: with -f, name one object as TYPE/NAME", strings.Join(q.Objects, " "))
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
		return nil, nil, fmt.Errorf("%s not found in the files; they contain %s", q.Objects[0], strings.Join(contained, ", "))
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

// scaleField implements origin.
func (f *files) scaleField(_ context.Context, kind schema.GroupVersionKind) (scaleField, error) {
	field := scaleFieldOf(f.crds, kind)
	if !builtin(kind.Group) && !slices.ContainsFunc(f.crds, defines(kind.GroupKind())) {
		field.gap = fmt.Sprintf("unknown which field an autoscaler sets; add the CustomResourceDefinition of %s to the files", kind.Kind)
	}
	return field, nil
}

func defines(kind schema.GroupKind) func(apiextensionsv1.CustomResourceDefinition) bool {
	return func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == kind.Group && crd.Spec.Names.Kind == kind.Kind
	}
}

// scalable implements origin.
func (f *files) scalable(kind schema.GroupKind) (scales, known bool) {
	scales, known = scale.Known(kind.Group, kind.Kind) != nil, builtin(kind.Group)
	for i := range f.crds {
		if !defines(kind)(f.crds[i]) {
			continue
		}
		known = true
		for _, version := range f.crds[i].Spec.Versions {
			scales = scales || version.Subresources != nil && version.Subresources.Scale != nil
		}
	}
	return scales, known
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
	auxiliary := []schema.GroupKind{hpaKind(), crdKind(), namespaceKind()}
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

// settle implements origin: a target is in the files, or known from its autoscaler's status, or missing, because the files contain
// other objects of its kind and namespace.
func (f *files) settle(_ context.Context, open []*Autoscaler, _ string, _ bool) (gap string, err error) {
	var unknown []string
	for _, a := range open {
		others := slices.DeleteFunc(f.of(a.Target), func(o *unstructured.Unstructured) bool { return o.GetNamespace() != a.Namespace })
		isTarget := func(o *unstructured.Unstructured) bool { return o.GetName() == a.TargetName }
		switch {
		case slices.ContainsFunc(others, isTarget), a.Since == "" && a.able:
			a.Presence = Present
		case a.Since != "", len(others) > 0:
			a.Presence = Missing
		default:
			unknown = append(unknown, a.TargetText())
		}
	}
	if len(unknown) > 0 {
		gap = fmt.Sprintf("unknown whether the targets %s of autoscalers exist; add them to the files", printable.Some(unknown))
	}
	return gap, nil
}

// builtin reports whether a group belongs to Kubernetes. Other groups have their own domain.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
