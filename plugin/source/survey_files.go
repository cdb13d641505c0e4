package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// fileSurvey is a survey of files. Their objects are all in memory.
type fileSurvey struct {
	survey    *Survey
	facts     fileFacts
	chosen    []*unstructured.Unstructured
	contained map[schema.GroupKind]map[string]bool // namespaces by kind
}

func (r Reader) surveyFiles(s *Survey, q Query) error {
	f := fileSurvey{survey: s, contained: map[schema.GroupKind]map[string]bool{}}
	types := q.Objects
	selector, err := selectorOf(q)
	if err != nil {
		return err
	}
	// Autoscalers need not have the labels of the selected objects.
	q.Objects, q.Selector = nil, ""
	objects, known, _, err := r.readFiles(q)
	if err != nil {
		return err
	}
	f.facts, _ = known.(fileFacts)
	for _, o := range objects {
		if err := f.register(o); err != nil {
			return err
		}
	}
	if f.chosen, err = ofTypes(objects, types, selector, s.who.scalers); err != nil {
		return err
	}
	for i := range f.facts.hpas {
		hpa := &f.facts.hpas[i]
		if a, ok := autoscalerOf(hpa); ok {
			f.addChosen(a, types, selector, hpa.Labels)
		}
	}
	s.scalers = f.facts.scalersOf(s.who.scalers)
	for _, kind := range s.who.scalers {
		for _, o := range objects {
			if o.GroupVersionKind().GroupKind() != kind.GroupKind {
				continue
			}
			if a, ok := scalerOf(kind, o); ok {
				f.addChosen(a, types, selector, o.GetLabels())
			}
		}
	}
	for _, o := range objects { // objects that are not chosen can still be targets
		f.survey.complete(&Subject{Kind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}, nil)
	}
	s.each = f.each
	return nil
}

// addChosen adds an autoscaler, which the query selects by its labels and the types of itself or its target.
func (f *fileSurvey) addChosen(a Autoscaler, types []string, selector labels.Selector, set map[string]string) {
	a.Chosen = selector.Matches(labels.Set(set)) && (len(types) == 0 || isOf(a.Kind.GroupKind(), types) || isOf(a.Target, types))
	if a.Presence == NotKnown {
		f.settleKind(&a)
	}
	f.survey.add(a)
}

func (f *fileSurvey) register(o *unstructured.Unstructured) error {
	kind := o.GroupVersionKind().GroupKind()
	if f.contained[kind] == nil {
		f.contained[kind] = map[string]bool{}
	}
	f.contained[kind][o.GetNamespace()] = true
	if kind != (schema.GroupKind{Kind: "Namespace"}) {
		return nil
	}
	subject, err := newSubject(o, f.survey.who)
	f.survey.addNamespace(subject.Object)
	return err
}

// ofTypes returns the objects of the given types that match a selector.
func ofTypes(
	objects []*unstructured.Unstructured, types []string, selector labels.Selector, scalers []scale.Kind,
) (chosen []*unstructured.Unstructured, err error) {
	if len(objects) == 0 {
		return nil, errors.New("the files contain no objects; write them with kubectl get -o yaml --show-managed-fields")
	}
	for _, word := range types {
		matches := func(o *unstructured.Unstructured) bool { return isOf(o.GroupVersionKind().GroupKind(), []string{word}) }
		if !slices.ContainsFunc(objects, matches) {
			return nil, fmt.Errorf("the files contain no %s; write types in full, such as deployments, or omit them", word)
		}
	}
	for _, o := range objects {
		kind := o.GroupVersionKind().GroupKind()
		if len(types) > 0 && !isOf(kind, types) || len(types) == 0 && isAuxiliary(kind, scalers) {
			continue
		}
		if selector.Matches(labels.Set(o.GetLabels())) {
			chosen = append(chosen, o)
		}
	}
	return chosen, nil
}

// isAuxiliary reports whether objects of a kind only provide facts about others. They are surveyed only if a type names them.
func isAuxiliary(kind schema.GroupKind, scalers []scale.Kind) bool {
	isScaler := func(k scale.Kind) bool { return k.GroupKind == kind && !k.IsWorkload() }
	return slices.ContainsFunc(scalers, isScaler) || kind == hpaKind() || kind == schema.GroupKind{Kind: "Namespace"} ||
		kind == schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

func isOf(kind schema.GroupKind, types []string) bool {
	return slices.ContainsFunc(types, func(word string) bool { return isType(kind.WithVersion(""), strings.ToLower(word)) })
}

func (f *fileSurvey) each(ctx context.Context, visit func(Page) error) error {
	scales := map[schema.GroupVersionKind]fieldpath.Path{}
	var workloads []string
	for i, o := range f.chosen {
		subject, err := newSubject(o, f.survey.who)
		if err != nil {
			return err
		}
		scalePath, known := scales[subject.Kind]
		if !known {
			about := Subject{Kind: subject.Kind, Name: "*"}
			if scalePath, err = f.facts.scalePath(ctx, &about); err != nil {
				return err
			}
			scales[subject.Kind] = scalePath
			f.survey.gaps = append(f.survey.gaps, about.Gaps...)
		}
		if scalePath != nil {
			workloads = append(workloads, subject.String())
		}
		f.survey.complete(&subject, scalePath)
		f.expect(subject.Namespace)
		if err := visit(Page{Subjects: []Subject{subject}, Left: int64(len(f.chosen) - i - 1)}); err != nil {
			return err
		}
	}
	if len(workloads) > 0 && len(f.facts.hpas) == 0 {
		f.survey.gap("unknown whether HorizontalPodAutoscalers target %s, because the files contain none; "+
			"if there are any, add them: kubectl get hpa -A -o yaml", some(workloads))
	}
	f.settle()
	f.reportUnknownModes()
	return nil
}
