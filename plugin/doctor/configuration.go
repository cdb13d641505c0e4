package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkConfiguration finds the MutatingWebhookConfiguration, and settings of its entries that keep them from working.
func (d *diagnosis) checkConfiguration(context.Context) {
	if d.in.Unread != nil {
		d.unread(installation.ReadPermission, d.in.Unread)
		return
	}
	if d.in.Missing() {
		d.check.found(d.object(), "not found: the API server does not call handoff, in any namespace", d.reinstall())
		return
	}
	for _, other := range d.in.Configurations[1:] {
		d.check.found(d.object(), "mutatingwebhookconfiguration/"+other.Name+" also calls handoff; a cluster can have one installation",
			"delete all but one: kubectl delete mutatingwebhookconfiguration NAME")
	}
	if installation.Find(d.in.Entries(), installation.MainEntry) == nil {
		d.check.found(d.object(), "webhook "+installation.MainEntry+" is missing", d.reinstall())
	}
	policies := sets.New[string]()
	for _, entry := range d.in.Entries() {
		policies.Insert(textOf(entry.FailurePolicy))
		if uncovered := d.uncovered(entry); installation.ReviewsObjects(entry, registration.NamespacedScope) && len(uncovered) > 0 {
			d.check.found(d.object(), "the rules of "+entry.Name+" do not match updates of "+strings.Join(uncovered, ", ")+
				", which can be scaled: handoff does not review them",
				d.reinstall(), "if you have chosen the rules yourself, add these resources: docs/managed.md, explicit rules")
		}
	}
	d.check.Detail = d.object() + ", failurePolicy " + strings.Join(sets.List(policies), " and ")
}

// uncovered returns the first scalable resources of which an entry's rules do not match the updates.
func (d *diagnosis) uncovered(entry *registration.MutatingWebhook) (names []string) {
	scales := func(_ schema.GroupVersion, r metav1.APIResource) bool {
		return r.Namespaced && strings.HasSuffix(r.Name, "/scale")
	}
	for _, scale := range d.served(scales) {
		resource := schema.GroupResource{Group: scale.Group, Resource: strings.TrimSuffix(scale.Resource, "/scale")}
		if !installation.Covers(entry, resource, registration.NamespacedScope) && !slices.Contains(names, resource.String()) {
			names = append(names, resource.String())
		}
	}
	if len(names) > 5 {
		names = append(names[:5], "…")
	}
	return names
}

// textOf returns the text of an optional value, "" without one.
func textOf[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

// checkChanges compares the entries with what was installed: with the last-applied manifest if there is one, else with the
// manifests of this version. It also reports fields that a manager has written which applies no manifests, such as an admission
// enforcer or kubectl edit. What an installer chose, such as failurePolicy Fail in the values of the chart, is no finding.
func (d *diagnosis) checkChanges(context.Context) {
	if len(d.configuration().ManagedFields) == 0 {
		d.check.gap("%s has no managedFields, so it is unknown who changed it", d.object())
	}
	var manifest registration.MutatingWebhookConfiguration
	isApplied := json.Unmarshal([]byte(d.configuration().Annotations[ownership.LastAppliedAnnotation]), &manifest) == nil
	installed := installation.EntriesOf(manifest)
	if !isApplied && d.sameRelease() {
		shipped, err := manifests.Objects[registration.MutatingWebhookConfiguration](manifests.Base, "MutatingWebhookConfiguration")
		if err != nil {
			d.check.gap("%v", err)
		}
		installed = installation.EntriesOf(shipped...)
	}
	entries := installation.EntriesOf(d.configuration())
	for _, entry := range installed {
		if installation.Find(entries, entry.Name) == nil && entry.Name != installation.MainEntry && (d.in.FollowsLabel() || isApplied) {
			d.check.found(d.object(), "webhook "+entry.Name+" is missing", d.reinstall())
		}
	}
	for _, entry := range entries {
		then := installation.Find(installed, entry.Name)
		if then == nil {
			then = &registration.MutatingWebhook{}
		}
		d.compare(entry, then, isApplied)
	}
	if len(d.check.Findings) == 0 {
		d.check.Detail = "as installed"
	}
}

// compare reports the fields of an entry that differ from what was installed, or that a manager has written which applies no
// manifests. If what was installed is the manifest itself, that contains what an installation can choose, too.
func (d *diagnosis) compare(live, installed *registration.MutatingWebhook, isApplied bool) {
	is, was := textsOf(live), textsOf(installed)
	for name := range was {
		if is[name] == "" && strings.HasPrefix(name, conditionPrefix) {
			is[name] = "missing"
		}
	}
	chosen := sets.New("failurePolicy", "timeoutSeconds", "namespaceSelector", "rules")
	for _, name := range slices.Sorted(maps.Keys(is)) {
		differs := was[name] != "" && (isApplied || !chosen.Has(name)) &&
			(name != "namespaceSelector" || !excludesMore(live.NamespaceSelector, installed.NamespaceSelector))
		manager := d.foreign(live.Name, name)
		switch {
		case is[name] == was[name]:
		case manager != "":
			d.check.found(d.object(), name+" of "+live.Name+" was changed by "+manager+" to "+short(is[name]), d.restore(manager)...)
		case differs:
			d.check.found(d.object(), name+" of "+live.Name+" is "+short(is[name])+", not as installed", d.reinstall())
		}
	}
}

// conditionPrefix begins the names of match conditions, which can be added, changed and removed one by one.
const conditionPrefix = "matchCondition "

// textsOf returns the fields of an entry that decide what the API server sends, and what it does when there is no answer. The
// caBundle is left out: it is written in the cluster, and checked with the certificate.
func textsOf(entry *registration.MutatingWebhook) map[string]string {
	rules := slices.Clone(entry.Rules)
	for i := range rules {
		if all := registration.AllScopes; rules[i].Scope == nil {
			rules[i].Scope = &all // as the API server sets it
		}
	}
	texts := map[string]string{
		"failurePolicy": textOf(entry.FailurePolicy), "timeoutSeconds": textOf(entry.TimeoutSeconds),
		"matchPolicy": textOf(entry.MatchPolicy), "reinvocationPolicy": textOf(entry.ReinvocationPolicy),
		"namespaceSelector": selectorText(entry.NamespaceSelector), "objectSelector": selectorText(entry.ObjectSelector),
	}
	if encoded, err := json.Marshal(rules); err == nil && len(rules) > 0 {
		texts["rules"] = string(encoded)
	}
	for _, condition := range entry.MatchConditions {
		texts[conditionPrefix+condition.Name] = oneLine(condition.Expression)
	}
	return texts
}

func selectorText(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}

// excludesMore reports whether two namespaceSelectors differ only in the namespaces that the live one excludes by name, as on GKE
// Autopilot, which adds its own namespaces during admission
// (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security). Excluded namespaces that have opted in are found
// with the namespaces.
func excludesMore(live, installed *metav1.LabelSelector) bool {
	if live == nil || installed == nil {
		return false
	}
	excluded, others := excludedBy(*live)
	before, othersBefore := excludedBy(*installed)
	return excluded.IsSuperset(before) && others == othersBefore
}

// excludedBy returns the names of namespaces that a selector excludes, and the text of its other requirements.
func excludedBy(selector metav1.LabelSelector) (names sets.Set[string], others string) {
	names = sets.New[string]()
	selector.MatchExpressions = slices.DeleteFunc(slices.Clone(selector.MatchExpressions), func(r metav1.LabelSelectorRequirement) bool {
		byName := r.Key == corev1.LabelMetadataName && r.Operator == metav1.LabelSelectorOpNotIn
		if byName {
			names.Insert(r.Values...)
		}
		return byName
	})
	return names, selectorText(&selector)
}

// foreign returns a manager that wrote a field of an entry and applies no manifests; "" if the field was applied.
func (d *diagnosis) foreign(entry, field string) (writer string) {
	path := []any{"webhooks", fieldpath.KeyByFields("name", entry), field}
	if condition, ok := strings.CutPrefix(field, conditionPrefix); ok {
		path = []any{"webhooks", fieldpath.KeyByFields("name", entry), "matchConditions", fieldpath.KeyByFields("name", condition)}
	}
	managers := config.Default().Managers()
	configuration := d.configuration()
	for _, e := range installation.Managers(&configuration, path...) {
		if managers.IsApplier(e) {
			return ""
		}
		writer = e.Manager
	}
	return writer
}

func (d *diagnosis) restore(manager string) []string {
	remedies := []string{d.reinstall()}
	if d.configuration().Annotations[releaseName] != "" {
		remedies = append(remedies, "if Helm reports a conflict with "+manager+", add --force-conflicts")
	}
	switch {
	case strings.Contains(manager, "admissionsenforcer"):
		// The label comes first: it does not remove what the enforcer has added. https://learn.microsoft.com/en-us/azure/aks/faq
		return append([]string{"kubectl label " + d.object() + " admissions.enforcer/disabled=true"}, remedies...)
	case !strings.HasPrefix(manager, "kubectl"):
		remedies = append(remedies, "if "+manager+" changes it again, exempt "+d.object()+" from its rules")
	}
	return remedies
}

// short limits the length of a value in a problem.
func short(text string) string { return table.Shorten(text, 240) }
