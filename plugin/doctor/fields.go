package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// hookField is a field of an entry, with its live value and that of the manifest.
type hookField struct {
	name           string
	path           []any
	live, declared any
	isDeclared     bool
	// fixed fields are the same in every installation of a version.
	fixed bool
	// narrowed reports whether the live value only excludes more namespaces by name.
	narrowed bool
	// now is the live value, for the problem.
	now string
}

// fields returns the fields of the entry that decide what the API server sends, and what it does when there is no answer. The
// caBundle is left out: it is written in the cluster, and checked with the certificate.
func (h *hookChanges) fields() []hookField {
	live, was := h.hook, h.declared
	if was == nil {
		was = &admissionregistrationv1.MutatingWebhook{}
	}
	fields := []hookField{ //nolint:prealloc // the conditions are few
		{name: "failurePolicy", live: live.FailurePolicy, declared: was.FailurePolicy, isDeclared: was.FailurePolicy != nil},
		{name: "timeoutSeconds", live: live.TimeoutSeconds, declared: was.TimeoutSeconds, isDeclared: was.TimeoutSeconds != nil},
		{
			name: "matchPolicy", live: live.MatchPolicy, declared: was.MatchPolicy, isDeclared: was.MatchPolicy != nil, fixed: true,
		},
		{
			name: "reinvocationPolicy", live: live.ReinvocationPolicy, declared: was.ReinvocationPolicy,
			isDeclared: was.ReinvocationPolicy != nil, fixed: true,
		},
		{
			name: "namespaceSelector", live: live.NamespaceSelector, declared: was.NamespaceSelector,
			isDeclared: was.NamespaceSelector != nil, narrowed: excludesMore(live.NamespaceSelector, was.NamespaceSelector),
		},
		{
			name: "objectSelector", live: live.ObjectSelector, declared: was.ObjectSelector, isDeclared: was.ObjectSelector != nil,
			fixed: true,
		},
		{name: "rules", live: scoped(live.Rules), declared: scoped(was.Rules), isDeclared: was.Rules != nil},
	}
	for i := range fields {
		fields[i].path, fields[i].now = []any{fields[i].name}, short(fields[i].live)
		if selector, ok := fields[i].live.(*metav1.LabelSelector); ok {
			fields[i].now = short(metav1.FormatLabelSelector(selector))
		}
	}
	return append(fields, conditions(live, was)...)
}

// excludesMore reports whether two namespaceSelectors differ only in the namespaces that the live one excludes by name, as on GKE
// Autopilot, which adds its own namespaces during admission
// (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security). Excluded namespaces that have opted in are found
// with the namespaces.
func excludesMore(live, declared *metav1.LabelSelector) bool {
	if live == nil || declared == nil || !equality.Semantic.DeepEqual(live.MatchLabels, declared.MatchLabels) {
		return false
	}
	names, others := excludedNames(live)
	declaredNames, declaredOthers := excludedNames(declared)
	return names.HasAll(declaredNames.UnsortedList()...) && equality.Semantic.DeepEqual(others, declaredOthers)
}

// excludedNames returns the names of namespaces that a selector excludes, and its other requirements.
func excludedNames(of *metav1.LabelSelector) (names sets.Set[string], others []metav1.LabelSelectorRequirement) {
	names = sets.New[string]()
	for _, r := range of.MatchExpressions {
		if r.Key == corev1.LabelMetadataName && r.Operator == metav1.LabelSelectorOpNotIn {
			names.Insert(r.Values...)
		} else {
			others = append(others, r)
		}
	}
	return names, others
}

// scoped returns rules with the scope that the API server sets if there is none.
func scoped(rules []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	rules = slices.Clone(rules)
	for i := range rules {
		if all := admissionregistrationv1.AllScopes; rules[i].Scope == nil {
			rules[i].Scope = &all
		}
	}
	return rules
}

// conditions returns the match conditions, which can be added, changed and removed one by one.
func conditions(live, was *admissionregistrationv1.MutatingWebhook) (fields []hookField) {
	find := func(in *admissionregistrationv1.MutatingWebhook, name string) (expression string, ok bool) {
		for _, condition := range in.MatchConditions {
			if condition.Name == name {
				return oneLine(condition.Expression), true
			}
		}
		return "", false
	}
	var names []string
	for _, condition := range slices.Concat(live.MatchConditions, was.MatchConditions) {
		if !slices.Contains(names, condition.Name) {
			names = append(names, condition.Name)
		}
	}
	for _, name := range names {
		expression, isLive := find(live, name)
		declared, isDeclared := find(was, name)
		now := short(expression)
		if !isLive {
			now = "missing"
		}
		fields = append(fields, hookField{
			name: "matchCondition " + name, path: []any{"matchConditions", fieldpath.KeyByFields("name", name)},
			live: expression, declared: declared, isDeclared: isDeclared, fixed: true, now: now,
		})
	}
	return fields
}

// maxValue limits the length of a value in a problem.
const maxValue = 240

func short(value any) string {
	text, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprintf("%v", value)
		}
		text = strings.Trim(string(encoded), `"`)
	}
	if runes := []rune(text); len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return text
}
