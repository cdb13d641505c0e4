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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// readFiles reads the objects in the files of a query. The autoscalers and definitions in the files are the facts about them.
func (r Reader) readFiles(ctx context.Context, q Query) ([]*unstructured.Unstructured, origin, []string, error) {
	objects, err := r.inFiles(ctx, q)
	if err != nil {
		return nil, nil, nil, err
	}
	from, err := newFiles(objects)
	if err == nil {
		objects, err = choose(objects, q.Objects)
	}
	return objects, from, nil, err
}

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

// choose returns the objects of files that TYPE/NAME matches, without an API server to resolve types.
func choose(objects []*unstructured.Unstructured, names []string) ([]*unstructured.Unstructured, error) {
	if len(names) == 0 {
		if len(objects) == 0 {
			return nil, errors.New("the files contain no objects; write them with kubectl get -o yaml --show-managed-fields")
		}
		return objects, nil
	}
	kind, name, ok := strings.Cut(names[0], "/")
	if !ok || len(names) > 1 {
		return nil, fmt.Errorf("%s: with -f, name one object as TYPE/NAME", strings.Join(names, " "))
	}
	var chosen []*unstructured.Unstructured
	var contained []string
	for _, o := range objects {
		if o.GetName() == name && isType(o.GroupVersionKind(), strings.ToLower(kind)) {
			chosen = append(chosen, o)
		}
		contained = append(contained, nameOf(o.GroupVersionKind(), o.GetName()))
	}
	if chosen == nil {
		return nil, fmt.Errorf("%s not found in the files; they contain %s", names[0], strings.Join(contained, ", "))
	}
	return chosen, nil
}

// isType reports whether a word is the singular or plural name of a kind, with or without its group.
func isType(kind schema.GroupVersionKind, word string) bool {
	word, group, qualified := strings.Cut(word, ".")
	singular := strings.ToLower(kind.Kind)
	return (word == singular || word == singular+"s" || word == singular+"es") && (!qualified || group == kind.Group)
}

// files is the origin of objects in files.
type files struct {
	objects []*unstructured.Unstructured
	crds    []apiextensionsv1.CustomResourceDefinition
}

func newFiles(objects []*unstructured.Unstructured) (*files, error) {
	f := &files{objects: objects}
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() != crdKind() {
			continue
		}
		crd, err := convert[apiextensionsv1.CustomResourceDefinition](o)
		if err != nil {
			return nil, err
		}
		f.crds = append(f.crds, *crd)
	}
	return f, nil
}

func crdKind() schema.GroupKind {
	return schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
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
	_ context.Context, kind schema.GroupKind, namespace string, visit func(*unstructured.Unstructured) error,
) (read access, err error) {
	for _, o := range f.objects {
		if o.GroupVersionKind().GroupKind() != kind {
			continue
		}
		read.complete = true
		if namespace == "" || o.GetNamespace() == namespace {
			if err := visit(o); err != nil {
				return read, err
			}
		}
	}
	if kind == hpaKind() && !read.complete {
		read.because, read.remedy = ", because the files contain none", "if there are any, add them: kubectl get hpa -o yaml"
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

// builtin reports whether a group belongs to Kubernetes. Other groups have their own domain.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
