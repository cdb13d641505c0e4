package doctor

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkChanges compares the entries with what was installed: with the last-applied manifest if there is one, else with the
// manifests of this version. It also reports fields that a manager has written which applies no manifests, such as an admission
// enforcer or kubectl edit. What an installer chose, such as failurePolicy Fail in the values of the chart, is no finding.
func (d *diagnosis) checkChanges(context.Context) {
	if len(d.configuration.ManagedFields) == 0 {
		d.check.gap("%s has no managedFields, so it is unknown who changed it", d.object())
	}
	var manifest registration.MutatingWebhookConfiguration
	isApplied := json.Unmarshal([]byte(d.configuration.Annotations[ownership.LastAppliedAnnotation]), &manifest) == nil
	installed := installation.EntriesOf(manifest)
	if !isApplied && d.sameRelease() {
		shipped, err := manifests.Objects[registration.MutatingWebhookConfiguration](manifests.Base, "MutatingWebhookConfiguration")
		if err != nil {
			d.check.gap("%v", err)
		}
		installed = installation.EntriesOf(shipped...)
	}
	entries := installation.EntriesOf(d.configuration)
	for _, entry := range installed {
		if installation.Find(entries, entry.Name) == nil && (d.in.FollowsLabel() || isApplied) {
			d.check.found(d.object(), "webhook "+entry.Name+" is missing", reinstall)
		}
	}
	for _, entry := range entries {
		d.compare(entry, installation.Find(installed, entry.Name), isApplied)
	}
	if len(d.check.Findings) == 0 {
		d.check.Detail = "as installed"
	}
}

// conditionPrefix begins the names of match conditions, which can be added, changed and removed one by one.
const conditionPrefix = "matchCondition "

// compare reports the fields of an entry that differ from what was installed, if that is known, or that a manager has written which
// applies no manifests. The last-applied manifest contains what an installation can choose, too.
func (d *diagnosis) compare(live, installed *registration.MutatingWebhook, isApplied bool) {
	is, was := textsOf(live), textsOf(installed)
	for name := range was {
		if is[name] == "" && strings.HasPrefix(name, conditionPrefix) {
			is[name] = "missing"
		}
	}
	chosen := sets.New("failurePolicy", "timeoutSeconds", "namespaceSelector", "rules")
	for _, name := range slices.Sorted(maps.Keys(is)) {
		problem, manager := name+" of "+live.Name+" is "+short(is[name])+", not as installed", d.foreign(live.Name, name)
		switch {
		case is[name] == was[name]:
		case manager != "":
			remedies := []string{reinstall}
			if !strings.HasPrefix(manager, "kubectl") { // the label does not remove what AKS has added
				remedies = slices.Insert(remedies, 0, "exempt it from the rules of "+manager+", on AKS with: "+
					"kubectl label "+d.object()+" admissions.enforcer/disabled=true")
			}
			d.check.found(d.object(), problem+": changed by "+manager, remedies...)
		case was[name] == "", chosen.Has(name) && !isApplied, name == "namespaceSelector" && excludesOthers(*live, *installed):
		default:
			d.check.found(d.object(), problem, reinstall)
		}
	}
}

// textsOf returns the fields of an entry that decide what the API server sends, and what it does when there is no answer. The
// caBundle is left out: it is written in the cluster, and checked with the certificate.
func textsOf(entry *registration.MutatingWebhook) map[string]string {
	texts := map[string]string{}
	if entry == nil {
		return texts
	}
	for _, condition := range entry.MatchConditions {
		texts[conditionPrefix+condition.Name] = oneLine(condition.Expression)
	}
	entry = entry.DeepCopy()
	all := registration.AllScopes
	for i := range entry.Rules {
		if entry.Rules[i].Scope == nil {
			entry.Rules[i].Scope = &all // as the API server sets it
		}
	}
	for name, value := range map[string]any{
		"failurePolicy": entry.FailurePolicy, "timeoutSeconds": entry.TimeoutSeconds, "matchPolicy": entry.MatchPolicy,
		"reinvocationPolicy": entry.ReinvocationPolicy, "rules": entry.Rules,
		"namespaceSelector": entry.NamespaceSelector, "objectSelector": entry.ObjectSelector,
	} {
		if text, err := json.Marshal(value); err == nil && string(text) != "null" {
			texts[name] = strings.Trim(string(text), `"`)
		}
	}
	return texts
}

// excludesOthers reports whether the namespaceSelectors of two entries differ only in the namespaces that they exclude by name. GKE
// Autopilot adds its own during admission (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security). Excluded
// namespaces that have opted in are found with the namespaces.
func excludesOthers(a, b registration.MutatingWebhook) bool {
	var texts [2]string
	for i, entry := range []registration.MutatingWebhook{a, b} {
		selector := entry.NamespaceSelector.DeepCopy()
		selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == corev1.LabelMetadataName && r.Operator == metav1.LabelSelectorOpNotIn
		})
		texts[i] = selector.String()
	}
	return texts[0] == texts[1]
}

// foreign returns a manager that wrote a field of an entry and applies no manifests; "" if the field was applied.
func (d *diagnosis) foreign(entry, field string) (writer string) {
	path := []any{"webhooks", fieldpath.KeyByFields("name", entry), field}
	if condition, ok := strings.CutPrefix(field, conditionPrefix); ok {
		path = append(path[:2], "matchConditions", fieldpath.KeyByFields("name", condition))
	}
	managers := config.Default().Managers()
	for _, e := range installation.Managers(&d.configuration, path...) {
		if managers.IsApplier(e) {
			return ""
		}
		writer = e.Manager
	}
	return writer
}

// short limits the length of a value in a problem.
func short(text string) string { return table.Shorten(text, 240) }
