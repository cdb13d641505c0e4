package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// fileSurvey is a survey of files. Their objects are all in memory.
type fileSurvey struct {
	survey    *Survey
	chosen    []*unstructured.Unstructured
	contained map[schema.GroupKind]map[string]bool // namespaces by kind
}

func (r Reader) surveyFiles(ctx context.Context, s *Survey, w who) error {
	selector, err := s.selector()
	if err != nil {
		return err
	}
	objects, err := r.localObjects(Query{Files: s.query.Files}) // autoscalers need not have the labels of the selected objects
	if err != nil {
		return err
	}
	f := fileSurvey{survey: s, contained: map[schema.GroupKind]map[string]bool{}}
	from, err := newFiles(objects)
	if err != nil {
		return err
	}
	s.facts = newFacts(from, w)
	if f.chosen, err = ofTypes(objects, s.query.Objects, selector, w.scalers); err != nil {
		return err
	}
	isNamed := func(kind schema.GroupKind) bool { return isOf(kind, s.query.Objects) }
	if err := s.readScalers(ctx, "", isNamed); err != nil {
		return err
	}
	for _, o := range objects { // objects that are not chosen can still be targets
		kind := o.GroupVersionKind().GroupKind()
		if f.contained[kind] == nil {
			f.contained[kind] = map[string]bool{}
		}
		f.contained[kind][o.GetNamespace()] = true
		s.found(target{o.GetNamespace(), kind, o.GetName()})
		if kind == (schema.GroupKind{Kind: "Namespace"}) {
			s.Namespaces[o.GetName()] = modeOf(o)
		}
	}
	s.each = f.each
	return nil
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
		kind == crdKind()
}

func isOf(kind schema.GroupKind, types []string) bool {
	return slices.ContainsFunc(types, func(word string) bool { return isType(kind.WithVersion(""), strings.ToLower(word)) })
}

func (f *fileSurvey) each(ctx context.Context, visit func(Page) error) error {
	reported := map[schema.GroupVersionKind]bool{}
	var workloads []string
	for i, o := range f.chosen {
		subject, err := newSubject(o, f.survey.facts.who)
		if err != nil {
			return err
		}
		field, err := f.survey.facts.scaleOf(ctx, subject.Kind)
		if err != nil {
			return err
		}
		if field.gap != "" && !reported[subject.Kind] {
			reported[subject.Kind] = true
			f.survey.gap("%s: %s", nameOf(subject.Kind, "*"), field.gap)
		}
		if field.path != nil {
			workloads = append(workloads, subject.String())
		}
		f.survey.complete(&subject, field)
		if _, known := f.survey.Namespaces[subject.Namespace]; !known && subject.Namespace != "" {
			f.survey.Namespaces[subject.Namespace] = UnknownMode
		}
		if err := visit(Page{Subjects: []Subject{subject}, Left: int64(len(f.chosen) - i - 1)}); err != nil {
			return err
		}
	}
	if len(workloads) > 0 && len(f.contained[hpaKind()]) == 0 {
		f.survey.gap("unknown whether HorizontalPodAutoscalers target %s, because the files contain none; "+
			"if there are any, add them: kubectl get hpa -A -o yaml", some(workloads))
	}
	f.settle()
	f.reportUnknownModes()
	return nil
}

// reportUnknownModes adds a gap for the namespaces that the files do not contain.
func (f *fileSurvey) reportUnknownModes() {
	var names []string
	for name, namespace := range f.survey.Namespaces {
		if namespace == UnknownMode {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		f.survey.gap("the mode of handoff in namespace %s is unknown; add the namespaces to the files: kubectl get namespaces -o yaml",
			some(names))
	}
}

// settle determines whether the targets exist that the files do not contain: from the autoscaler's status, or because the files
// contain other objects of the same kind and namespace.
func (f *fileSurvey) settle() {
	var open []string
	for i := range f.survey.Autoscalers {
		a := &f.survey.Autoscalers[i]
		switch {
		case a.Presence != NotKnown || !a.Chosen:
		case a.Since != "":
			a.Presence = Missing
		case a.able:
			a.Presence = Present
		case f.contained[a.Target][a.Namespace]:
			a.Presence = Missing
		default:
			open = append(open, a.TargetText())
		}
	}
	if len(open) > 0 {
		f.survey.gap("unknown whether the targets %s of autoscalers exist; add them to the files", some(open))
	}
}

// some returns the first few names and the number of others.
func some(names []string) string {
	if len(names) <= 3 {
		return printable.Names(names, len(names))
	}
	return printable.Names(names[:2], len(names))
}

func hpaKind() schema.GroupKind {
	return schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
}
