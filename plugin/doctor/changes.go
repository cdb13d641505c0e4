package doctor

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkChanges compares the entries with what was installed: with the last-applied manifest if there is one, else with the
// manifests of this version. It reports fields that a manager has written which applies no manifests, such as an admission enforcer
// or kubectl edit, and fields that no installation chooses.
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
		d.compare(entry, installation.Find(installed, entry.Name))
	}
	if len(d.check.Findings) == 0 {
		d.check.Detail = "as installed"
	}
}

// conditionPrefix begins the names of match conditions, which can be added, changed and removed one by one.
const conditionPrefix = "matchCondition "

// compare reports the fields of an entry that differ from what was installed, if that is known, unless an applier of manifests has
// written them and an installation can choose them: GKE Autopilot changes the namespaceSelector during admission, in the name of the applier
// (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security). Namespaces that are excluded although they have opted in
// are found with the namespaces.
func (d *diagnosis) compare(live, installed *registration.MutatingWebhook) {
	is, was := textsOf(live), textsOf(installed)
	for name := range was {
		if is[name] == "" && strings.HasPrefix(name, conditionPrefix) {
			is[name] = "missing"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		problem, manager := name+" of "+live.Name+" is "+short(is[name])+", not as installed", d.foreign(live.Name, name)
		isChosen := slices.Contains([]string{"failurePolicy", "timeoutSeconds", "namespaceSelector", "rules"}, name)
		switch {
		case is[name] == was[name], manager == "" && (isChosen || was[name] == ""):
		case manager == "":
			d.check.found(d.object(), problem, reinstall)
		case strings.HasPrefix(manager, "kubectl"):
			d.check.found(d.object(), problem+": changed by "+manager, reinstall)
		default: // the label does not remove what AKS has added
			d.check.found(d.object(), problem+": changed by "+manager, "exempt it from the rules of "+manager+", on AKS with: "+
				"kubectl label "+d.object()+" admissions.enforcer/disabled=true", reinstall)
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
