package ownership

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Edit is what becomes of a field that a rule assigns to a controller if the manifest sets it.
type Edit string

const (
	// EditKeep keeps the controller's value, whatever the manifest sets.
	EditKeep Edit = "keep"
	// EditApply keeps the controller's value as long as the manifest sets the value that it set last. If the manifest's value has changed,
	// the manifest wins.
	EditApply Edit = "apply"
)

// AnyWriter is the Rule.Writers element for every manager, including people and renamed appliers.
const AnyWriter = "*"

// Rule assigns fields of objects to controllers. A controller owns such a field once it has written it.
type Rule struct {
	// Name identifies the rule.
	Name string
	// Kinds select objects by their kind, without a version; none selects all. Group and Kind "" and "*" match any. The group of core
	// kinds is "core".
	Kinds []schema.GroupKind
	// Namespaces are names or path.Match patterns of namespaces, which no object outside namespaces matches; none matches all.
	Namespaces []string
	// Selector selects objects by their labels; nil selects all.
	Selector labels.Selector
	// Fields match the fields that the rule assigns.
	Fields []Pattern
	// Writers are names or path.Match patterns of the field managers that own the fields once they have written them, by an update or by
	// server-side apply. On objects of the rule, their applies do not count as manifests. Without writers, every manager that is neither
	// an applier nor imperative is one. AnyWriter stands for every manager, as long as the value is not the one that a manifest last set.
	Writers []string
	// Edit is what becomes of a field that the manifest sets; empty is EditKeep.
	Edit Edit

	order int // of the rules of one object: the first decides
}

// Matches reports whether the rule applies to an object of a kind and namespace, which is empty for an object outside namespaces.
func (r *Rule) Matches(kind schema.GroupKind, namespace string, o Object) bool {
	is := func(want, is string) bool { return want == "" || want == "*" || want == is }
	isKind := func(k schema.GroupKind) bool {
		return is(k.Group, cmp.Or(kind.Group, "core")) && is(k.Kind, kind.Kind)
	}
	return (len(r.Kinds) == 0 || slices.ContainsFunc(r.Kinds, isKind)) &&
		(len(r.Namespaces) == 0 || namespace != "" && matches(r.Namespaces, namespace)) && (r.Selector == nil || r.Selector.Matches(o.labels()))
}

// AnyWriter reports whether every manager is a writer of the rule.
func (r *Rule) AnyWriter() bool { return slices.Contains(r.Writers, AnyWriter) }

// isOpen reports whether the rule does not name its writers.
func (r *Rule) isOpen() bool { return len(r.Writers) == 0 || r.AnyWriter() }

// remembers reports whether the rule depends on the value that the manifest set last (AppliedAnnotation).
func (r *Rule) remembers() bool { return r.Edit == EditApply || r.AnyWriter() }
