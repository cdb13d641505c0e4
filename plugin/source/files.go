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

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// stdin is the name of standard input in messages.
const stdin = "standard input"

// readFiles reads the objects in the files of a query. The autoscalers and definitions in the files are the facts about them.
func (r Reader) readFiles(q Query) ([]*unstructured.Unstructured, facts, []string, error) {
	objects, err := r.localObjects(q)
	if err != nil {
		return nil, nil, nil, err
	}
	known, err := newFileFacts(objects)
	if err != nil {
		return nil, nil, nil, err
	}
	chosen, err := choose(objects, q.Objects)
	return chosen, known, nil, err
}

// visitFiles reads the objects in files with a builder.
func (r Reader) visitFiles(
	builder *resource.Builder, enforceNamespace bool, files resource.FilenameOptions,
) ([]*resource.Info, error) {
	files.Filenames = slices.Clone(files.Filenames)
	// The builder would read the standard input of the process, and its errors would lack line numbers.
	piped := slices.Contains(files.Filenames, "-")
	files.Filenames = slices.DeleteFunc(files.Filenames, func(name string) bool { return name == "-" })
	var input []byte
	if piped {
		var err error
		if input, err = io.ReadAll(r.In); err != nil {
			return nil, fmt.Errorf("%s: %w", stdin, err)
		}
		builder = builder.Stream(bytes.NewReader(input), stdin)
	}
	infos, err := builder.FilenameParam(enforceNamespace, &files).Flatten().Do().Infos()
	if err != nil {
		return nil, locate(err, input)
	}
	return infos, nil
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

// fileFacts are the autoscalers, CustomResourceDefinitions and namespaces in files.
type fileFacts struct {
	hpas []autoscalingv2.HorizontalPodAutoscaler
	crds []apiextensionsv1.CustomResourceDefinition
	// namespaces are the modes of the namespaces, by name.
	namespaces map[string]ownership.Mode
	objects    []*unstructured.Unstructured
}

func (f fileFacts) scalers(_ context.Context, _ *Subject, kinds []scale.Kind) (scalerList, error) {
	return f.scalersOf(kinds), nil
}

// scalersOf returns the scalers in the files. A kind of which the files contain no object may be installed nevertheless: that is
// no gap, because most clusters do not have it, but its managers then count by their names.
func (f fileFacts) scalersOf(kinds []scale.Kind) (list scalerList) {
	for rank, kind := range kinds {
		contained := false
		for _, o := range f.objects {
			if o.GroupVersionKind().GroupKind() == kind.GroupKind {
				list.add(kind, rank, o)
				contained = true
			}
		}
		if contained {
			list.readable = append(list.readable, kind.Managers...)
		}
	}
	return list
}

func newFileFacts(objects []*unstructured.Unstructured) (f fileFacts, err error) {
	f.namespaces, f.objects = map[string]ownership.Mode{}, objects
	for _, o := range objects {
		switch o.GroupVersionKind().GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}:
			f.namespaces[o.GetName()] = modeOf(o)
		case schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}:
			hpa, err := hpaOf(o) // all versions agree in the fields that are read
			if err != nil {
				return f, err
			}
			f.hpas = append(f.hpas, hpa)
		case schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}:
			crd, err := crdOf(o)
			if err != nil {
				return f, err
			}
			f.crds = append(f.crds, crd)
		}
	}
	return f, nil
}

func (f fileFacts) scalePath(_ context.Context, s *Subject) (fieldpath.Path, error) {
	if path := scale.Known(s.Kind.Group, s.Kind.Kind); path != nil {
		return path, nil
	}
	defined := func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == s.Kind.Group && crd.Spec.Names.Kind == s.Kind.Kind
	}
	if !builtin(s.Kind.Group) && !slices.ContainsFunc(f.crds, defined) {
		s.gap("unknown which field an autoscaler sets; add the CustomResourceDefinition of %s to the files", s.Kind.Kind)
	}
	s.Context.ScaleIn = scalesOf(f.crds, s.Kind.GroupKind())
	return s.Context.ScaleIn(s.Kind.GroupVersion().String()), nil
}

// builtin reports whether a group belongs to Kubernetes. Other groups have their own domain.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func (f fileFacts) autoscalers(_ context.Context, s *Subject) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	if len(f.hpas) == 0 {
		s.gap("unknown whether a HorizontalPodAutoscaler targets it, because the files contain none; " +
			"if there are any, add them: kubectl get hpa -o yaml")
	}
	var near []autoscalingv2.HorizontalPodAutoscaler
	for _, hpa := range f.hpas {
		if hpa.Namespace == s.Namespace {
			near = append(near, hpa)
		}
	}
	return near, nil
}

func (f fileFacts) namespaceMode(_ context.Context, namespace string) (ownership.Mode, error) {
	if namespace == "" {
		return ownership.ModeOff, nil
	}
	return cmp.Or(f.namespaces[namespace], UnknownMode), nil
}
