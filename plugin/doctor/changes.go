package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkChanges compares the entries with what was installed: with the last-applied manifest if there is one, else with the
// manifests of this version. It also reports fields that a manager has written which applies no manifests, such as an admission
// enforcer or kubectl edit. What an installer chose, such as failurePolicy Fail in the values of the chart, is no finding.
func (d *diagnosis) checkChanges(_ context.Context, c *Check) {
	managed, err := entriesOf(d.configuration())
	if err != nil {
		c.gap("%s: reading managedFields of %s: %v", c.Name, d.object(), err)
	}
	if len(managed) == 0 {
		c.gap("%s: %s has no managedFields, so it is unknown who changed it", c.Name, d.object())
	}
	var installed []admissionregistrationv1.MutatingWebhookConfiguration
	applied := false
	if text := d.configuration().Annotations[ownership.LastAppliedAnnotation]; text != "" {
		installed = make([]admissionregistrationv1.MutatingWebhookConfiguration, 1)
		applied = json.Unmarshal([]byte(text), &installed[0]) == nil
	}
	if !applied && d.sameRelease() {
		installed, err = manifests.Objects[admissionregistrationv1.MutatingWebhookConfiguration](
			manifests.Base, "MutatingWebhookConfiguration")
		if err != nil {
			c.gap("%s: %v", c.Name, err)
		}
	}
	was := (&installation.Installation{Configurations: installed}).Entries()
	live := (&installation.Installation{Configurations: d.in.Configurations[:1]}).Entries()
	for _, entry := range was {
		if at(live, entry.Name) == nil && entry.Name != installation.MainEntry && (d.in.FollowsLabel() || applied) {
			c.found(d.object(), "webhook "+entry.Name+" is missing", d.reinstall()...)
		}
	}
	for _, entry := range live {
		d.compare(c, managed, entry, at(was, entry.Name), applied)
	}
	if len(c.Findings) == 0 {
		c.Detail = "as installed"
	}
}

func entriesOf(configuration *admissionregistrationv1.MutatingWebhookConfiguration) ([]ownership.Entry, error) {
	text, err := json.Marshal(configuration)
	if err != nil {
		return nil, err
	}
	o, err := ownership.ParseObject(text)
	if err != nil {
		return nil, err
	}
	return o.Entries()
}

// at returns the entry with a name, or nil.
func at(entries []*admissionregistrationv1.MutatingWebhook, name string) *admissionregistrationv1.MutatingWebhook {
	for _, entry := range entries {
		if entry.Name == name {
			return entry
		}
	}
	return nil
}

// compare reports the fields of an entry that differ from what was installed, or that a manager has written which applies no
// manifests. With applied, what was installed is the manifest itself, which also contains what an installation can choose.
func (d *diagnosis) compare(
	c *Check, managed []ownership.Entry, live, was *admissionregistrationv1.MutatingWebhook, applied bool,
) {
	if was == nil {
		was = &admissionregistrationv1.MutatingWebhook{}
	}
	narrowed := excludesMore(live.NamespaceSelector, was.NamespaceSelector)
	declared := fieldsOf(was)
	fields := fieldsOf(live)
	for name := range declared {
		if _, ok := fields[name]; !ok && strings.HasPrefix(name, conditionPrefix) {
			fields[name] = field{path: declared[name].path, now: "missing"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		is, then := fields[name], declared[name]
		if then.value != nil && reflect.DeepEqual(is.value, then.value) {
			continue
		}
		chosen := slices.Contains([]string{"failurePolicy", "timeoutSeconds", "namespaceSelector", "rules"}, name)
		differs := then.value != nil && (applied || !chosen) && (name != "namespaceSelector" || !narrowed)
		manager := foreign(managed, live.Name, is.path)
		switch {
		case manager != "":
			c.found(d.object(), name+" of "+live.Name+" was changed by "+manager+" to "+is.now, d.restore(manager)...)
		case differs:
			c.found(d.object(), name+" of "+live.Name+" is "+is.now+", not as installed", d.restore("")...)
		}
	}
}

// field is a field of an entry. now is its value for people.
type field struct {
	path  []any
	value any
	now   string
}

// conditionPrefix begins the names of match conditions, which can be added, changed and removed one by one.
const conditionPrefix = "matchCondition "

// fieldsOf returns the fields of the entry that decide what the API server sends, and what it does when there is no answer. The
// caBundle is left out: it is written in the cluster, and checked with the certificate.
func fieldsOf(entry *admissionregistrationv1.MutatingWebhook) map[string]field {
	entry = entry.DeepCopy()
	for i := range entry.Rules {
		if all := admissionregistrationv1.AllScopes; entry.Rules[i].Scope == nil {
			entry.Rules[i].Scope = &all // as the API server sets it
		}
	}
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(entry)
	if err != nil {
		return nil
	}
	fields := map[string]field{}
	for _, name := range []string{
		"failurePolicy", "timeoutSeconds", "matchPolicy", "reinvocationPolicy", "namespaceSelector", "objectSelector", "rules",
	} {
		fields[name] = field{path: []any{name}, value: values[name], now: short(values[name])}
	}
	for name, selector := range map[string]*metav1.LabelSelector{
		"namespaceSelector": entry.NamespaceSelector, "objectSelector": entry.ObjectSelector,
	} {
		if selector != nil {
			f := fields[name]
			f.now = short(metav1.FormatLabelSelector(selector))
			fields[name] = f
		}
	}
	for _, condition := range entry.MatchConditions {
		expression := oneLine(condition.Expression)
		fields[conditionPrefix+condition.Name] = field{
			path: []any{"matchConditions", fieldpath.KeyByFields("name", condition.Name)}, value: expression, now: short(expression),
		}
	}
	return fields
}

// excludesMore reports whether two namespaceSelectors differ only in the namespaces that the live one excludes by name, as on GKE
// Autopilot, which adds its own namespaces during admission
// (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security). Excluded namespaces that have opted in are found
// with the namespaces.
func excludesMore(live, declared *metav1.LabelSelector) bool {
	if live == nil || declared == nil || !reflect.DeepEqual(live.MatchLabels, declared.MatchLabels) {
		return false
	}
	names, others := excludedNames(live)
	declaredNames, declaredOthers := excludedNames(declared)
	return names.IsSuperset(declaredNames) && reflect.DeepEqual(others, declaredOthers)
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

// foreign returns a manager that wrote a field of an entry and applies no manifests; "" if the field was applied.
func foreign(managed []ownership.Entry, entry string, path []any) (writer string) {
	managers := config.Default().Managers()
	whole := append([]any{"webhooks", fieldpath.KeyByFields("name", entry)}, path...)
	for _, e := range ownership.EntriesFor(managed, fieldpath.MakePathOrDie(whole...)) {
		if managers.IsApplier(e) {
			return ""
		}
		writer = e.Manager
	}
	return writer
}

// restore returns how to restore a field that a manager has changed.
func (d *diagnosis) restore(manager string) []string {
	remedies := d.reinstall()
	if manager != "" && d.configuration().Annotations[releaseName] != "" {
		remedies = append(remedies, "if Helm reports a conflict with "+manager+", add --force-conflicts")
	}
	switch {
	case strings.Contains(manager, "admissionsenforcer"):
		// The label comes first: it does not remove what the enforcer has added. https://learn.microsoft.com/en-us/azure/aks/faq
		remedies = slices.Insert(remedies, 0, "kubectl label mutatingwebhookconfiguration "+d.configuration().Name+
			" admissions.enforcer/disabled=true")
	case manager != "" && !strings.HasPrefix(manager, "kubectl"):
		remedies = append(remedies, "if "+manager+" changes it again, exempt "+d.object()+" from its rules")
	}
	return remedies
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
		text = string(encoded)
	}
	if runes := []rune(text); len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return text
}
