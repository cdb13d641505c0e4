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
)

// fileSurvey is a survey of files. Their objects are all in memory.
type fileSurvey struct {
	survey    *Survey
	chosen    []*unstructured.Unstructured
	contained map[target]bool // the kinds in each namespace, without names
}

func (r Reader) surveyFiles(ctx context.Context, s *Survey) error {
	objects, err := r.inFiles(ctx, Query{Files: s.query.Files}) // autoscalers need not have the labels of the selected objects
	if err != nil {
		return err
	}
	f := fileSurvey{survey: s, contained: map[target]bool{}}
	from, err := newFiles(objects)
	if err != nil {
		return err
	}
	if s.facts, err = newFacts(from, r.Configuration); err != nil {
		return err
	}
	if f.chosen, err = s.choose(objects); err != nil {
		return err
	}
	isNamed := func(kind schema.GroupKind) bool { return isOf(kind, s.query.Objects) }
	if err := s.readScalers(ctx, "", isNamed); err != nil {
		return err
	}
	for _, o := range objects { // objects that are not chosen can still be targets
		kind := o.GroupVersionKind().GroupKind()
		f.contained[target{namespace: o.GetNamespace(), kind: kind}] = true
		s.found(target{o.GetNamespace(), kind, o.GetName()})
		if kind == (schema.GroupKind{Kind: "Namespace"}) {
			s.Namespaces[o.GetName()] = modeOf(o)
		}
	}
	s.Each = f.each
	return nil
}

// choose returns the objects of the query's types that match its selector. Without types, these are not the objects that only
// provide facts about others.
func (s *Survey) choose(objects []*unstructured.Unstructured) (chosen []*unstructured.Unstructured, err error) {
	if len(objects) == 0 {
		return nil, errors.New("the files contain no objects; write them with kubectl get -o yaml --show-managed-fields")
	}
	types := s.query.Objects
	for _, word := range types {
		matches := func(o *unstructured.Unstructured) bool { return isOf(o.GroupVersionKind().GroupKind(), []string{word}) }
		if !slices.ContainsFunc(objects, matches) {
			return nil, fmt.Errorf("the files contain no %s; write types in full, such as deployments, or omit them", word)
		}
	}
	auxiliary := []schema.GroupKind{hpaKind(), crdKind(), {Kind: "Namespace"}}
	for _, scaler := range s.facts.who.scalers {
		if !scaler.IsWorkload() {
			auxiliary = append(auxiliary, scaler.GroupKind)
		}
	}
	for _, o := range objects {
		kind := o.GroupVersionKind().GroupKind()
		named := len(types) > 0 && isOf(kind, types) || len(types) == 0 && !slices.Contains(auxiliary, kind)
		if named && s.selector.Matches(labels.Set(o.GetLabels())) {
			chosen = append(chosen, o)
		}
	}
	return chosen, nil
}

func isOf(kind schema.GroupKind, types []string) bool {
	return slices.ContainsFunc(types, func(word string) bool { return isType(kind.WithVersion(""), strings.ToLower(word)) })
}

func (f *fileSurvey) each(ctx context.Context, visit Visit) error {
	var workloads []string
	for i, o := range f.chosen {
		subject, err := f.survey.subject(ctx, o, nameOf(o.GroupVersionKind(), "*"))
		if err != nil {
			return err
		}
		if subject.Context.Scale != nil {
			workloads = append(workloads, subject.String())
		}
		if _, known := f.survey.Namespaces[subject.Namespace]; !known && subject.Namespace != "" {
			f.survey.Namespaces[subject.Namespace] = UnknownMode
		}
		if err := visit("", subject, int64(len(f.chosen)-i-1)); err != nil {
			return err
		}
	}
	if len(workloads) > 0 && len(f.survey.scalers.unread) > 0 {
		f.survey.gap("unknown whether HorizontalPodAutoscalers target %s, because the files contain none; "+
			"if there are any, add them: kubectl get hpa -A -o yaml", printable.Some(workloads))
	}
	f.settle()
	return nil
}

// settle determines whether the targets exist that the files do not contain: from the autoscaler's status, or because the files
// contain other objects of the same kind and namespace.
func (f *fileSurvey) settle() {
	var open []string
	for i := range f.survey.Autoscalers {
		a := &f.survey.Autoscalers[i]
		switch {
		case a.Presence != NotKnown || !a.Chosen:
		case a.Since != "", !a.able && f.contained[target{namespace: a.Namespace, kind: a.Target}]:
			a.Presence = Missing
		case a.able:
			a.Presence = Present
		default:
			open = append(open, a.TargetText())
		}
	}
	if len(open) > 0 {
		f.survey.gap("unknown whether the targets %s of autoscalers exist; add them to the files", printable.Some(open))
	}
}

func hpaKind() schema.GroupKind {
	return schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
}
