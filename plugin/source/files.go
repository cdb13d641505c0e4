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

// stdin is how messages name the standard input.
const stdin = "standard input"

// readFiles reads what the files of a query hold. They say themselves what is known about their objects: by the
// autoscalers and the definitions among them.
func (r Reader) readFiles(q Query) ([]*unstructured.Unstructured, facts, []string, error) {
	objects, err := r.localObjects(q)
	if err != nil {
		return nil, nil, nil, err
	}
	around, err := newFileFacts(objects)
	if err != nil {
		return nil, nil, nil, err
	}
	chosen, err := choose(objects, q.Objects)
	return chosen, around, nil, err
}

// visitFiles reads what files hold, by a builder that says how.
func (r Reader) visitFiles(
	builder *resource.Builder, enforceNamespace bool, files resource.FilenameOptions,
) ([]*resource.Info, error) {
	files.Filenames = slices.Clone(files.Filenames)
	// Another FilenameParam would read the standard input of the process, and could not tell the line of an error.
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

// choose leaves what TYPE/NAME means among objects of files, where no API server tells what types there are.
func choose(objects []*unstructured.Unstructured, names []string) ([]*unstructured.Unstructured, error) {
	if len(names) == 0 {
		if len(objects) == 0 {
			return nil, errors.New("the files hold no objects; see kubectl get -o yaml --show-managed-fields")
		}
		return objects, nil
	}
	kind, name, ok := strings.Cut(names[0], "/")
	if !ok || len(names) > 1 {
		return nil, fmt.Errorf("%s: name the object of the files as TYPE/NAME", strings.Join(names, " "))
	}
	var chosen []*unstructured.Unstructured
	var held []string
	for _, o := range objects {
		if o.GetName() == name && isType(o.GroupVersionKind(), strings.ToLower(kind)) {
			chosen = append(chosen, o)
		}
		held = append(held, nameOf(o.GroupVersionKind(), o.GetName()))
	}
	if chosen == nil {
		return nil, fmt.Errorf("the files hold no %s; they hold %s", names[0], strings.Join(held, ", "))
	}
	return chosen, nil
}

// isType says whether a word names a kind: singular or plural, with its group or without.
func isType(kind schema.GroupVersionKind, word string) bool {
	word, group, qualified := strings.Cut(word, ".")
	singular := strings.ToLower(kind.Kind)
	return (word == singular || word == singular+"s" || word == singular+"es") && (!qualified || group == kind.Group)
}

// fileFacts are the autoscalers, the definitions and the namespaces that files hold.
type fileFacts struct {
	hpas []autoscalingv2.HorizontalPodAutoscaler
	crds []apiextensionsv1.CustomResourceDefinition
	// namespaces are the modes of the namespaces, by name.
	namespaces map[string]ownership.Mode
}

func newFileFacts(objects []*unstructured.Unstructured) (f fileFacts, err error) {
	f.namespaces = map[string]ownership.Mode{}
	for _, o := range objects {
		switch o.GroupVersionKind().GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}:
			text, annotated := o.GetAnnotations()[ownership.ModeAnnotation]
			f.namespaces[o.GetName()] = modeIn(text, annotated)
		case schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}:
			hpa, err := hpaOf(o) // all versions agree in what is read of it
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
	if path := scale.Builtin(s.Kind.Group, s.Kind.Kind); path != nil {
		return path, nil
	}
	defined := func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == s.Kind.Group && crd.Spec.Names.Kind == s.Kind.Kind
	}
	if !builtin(s.Kind.Group) && !slices.ContainsFunc(f.crds, defined) {
		s.gap("which field an autoscaler sets is not known; add the CustomResourceDefinition of %s to the files", s.Kind.Kind)
	}
	s.Context.ScaleIn = scalesOf(f.crds, s.Kind.GroupKind())
	return s.Context.ScaleIn(s.Kind.GroupVersion().String()), nil
}

// builtin says whether a group is one of Kubernetes itself: custom ones have a domain of their own.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func (f fileFacts) autoscalers(_ context.Context, s *Subject) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	if len(f.hpas) == 0 {
		s.gap("whether a HorizontalPodAutoscaler targets it is not known: the files hold none; " +
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
