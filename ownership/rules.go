package ownership

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

// Rules are the rules of a configuration. If several assign a field to one of its managers, the first decides. They are immutable.
type Rules struct{ list []*Rule }

// NewRules returns rules in the order in which they decide.
func NewRules(list ...Rule) (r Rules) {
	for i, rule := range list {
		rule.order = i
		r.list = append(r.list, &rule)
	}
	return r
}

// Remember reports whether a rule depends on the values that manifests have set last (AppliedAnnotation).
func (r Rules) Remember() bool { return slices.ContainsFunc(r.list, (*Rule).remembers) }

// For returns the rules for an object of a kind and namespace: those that match it, and its ControllerFieldsAnnotation. The error is
// about the annotation's paths that do not parse, which are ignored.
func (r Rules) For(kind schema.GroupKind, namespace string, o Object) (of ObjectRules, unread error) {
	for _, rule := range r.list {
		if rule.Matches(kind, namespace, o) {
			of.rules = append(of.rules, rule)
		}
	}
	text, _ := o.Annotation(ControllerFieldsAnnotation).String()
	fields, unread := ParseControllerFields(text)
	if len(fields) > 0 {
		of.rules = append(of.rules, &Rule{Name: ControllerFieldsAnnotation, Fields: fields, order: math.MaxInt})
	}
	of.start = []*ruleTree{{}}
	for _, rule := range of.rules {
		of.start[0].Add(rule, rule.Fields...)
	}
	return of, unread
}

// The patterns of rules, as matched against sets of fields. The rule of a pattern that is not one of a rule is nil.
type (
	ruleTree    = fieldpattern.Tree[*Rule]
	ruleEnd     = fieldpattern.End[*Rule]
	ruleMatcher = fieldpattern.Matcher[*Rule]
)

// ObjectRules are the rules for one object. The zero value has none.
type ObjectRules struct {
	rules []*Rule
	start []*ruleTree // of their patterns
}

// matcher returns a matcher of the fields of those rules that are accepted.
func (o ObjectRules) matcher(meter Meter, accepts func(*Rule) bool) ruleMatcher {
	return ruleMatcher{Start: o.start, Meter: meter, Accepts: func(end ruleEnd) bool { return accepts(end.Of) }}
}

// covering returns the rules that assign a field, in their order. If the meter ends the work, the result is not valid.
func (o ObjectRules) covering(path fieldpath.Path, meter Meter) (rules []*Rule) {
	_, rules = o.matcher(meter, func(*Rule) bool { return true }).Follow(path)
	return inOrder(rules)
}

// inOrder sorts rules, and removes duplicates: several paths of a rule can match.
func inOrder(rules []*Rule) []*Rule {
	slices.SortFunc(rules, func(a, b *Rule) int { return cmp.Compare(a.order, b.order) })
	return slices.Compact(rules)
}

// remember reports whether one of the rules depends on the values that manifests have set last.
func (o ObjectRules) remember() bool { return slices.ContainsFunc(o.rules, (*Rule).remembers) }

// isEditableBy reports whether the rule is that of the owner, and lets a new value in the manifest win.
func (o FieldOwner) isEditableBy(r *Rule) bool { return r.Name == o.Rule && r.Edit == EditApply }
