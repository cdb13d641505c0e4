package doctor

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkEntries finds the settings of the entries that keep them from working.
func (d *diagnosis) checkEntries(c *Check) {
	for _, hook := range d.install.hooks {
		if !reviewsObjects(hook) {
			continue
		}
		if uncovered := d.uncovered(hook); len(uncovered) > 0 {
			c.found(d.install.object(), "the rules of "+hook.Name+" do not match updates of "+strings.Join(uncovered, ", ")+
				", which can be scaled: handoff does not review them",
				append(d.reinstall(), "if you have chosen the rules yourself, add these resources: docs/managed.md, explicit rules")...)
		}
		if hook.SideEffects == nil || !slices.Contains([]admissionregistrationv1.SideEffectClass{
			admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
		}, *hook.SideEffects) {
			c.found(d.install.object(), "sideEffects of "+hook.Name+" is not NoneOnDryRun: the API server refuses dry runs",
				d.reinstall()...)
		}
		for i := range hook.MatchConditions {
			if strings.TrimSpace(hook.MatchConditions[i].Expression) == "false" {
				c.found(d.install.object(), "matchCondition "+hook.MatchConditions[i].Name+" of "+hook.Name+
					" is always false: the API server never calls handoff", d.reinstall()...)
			}
		}
	}
}

// reviewsObjects reports whether an entry reviews objects in namespaces, as opposed to the namespaces.
func reviewsObjects(hook *admissionregistrationv1.MutatingWebhook) bool {
	return hook.Name != namespacesWebhook
}

// maxNames limits the names that a sentence lists.
const maxNames = 5

// uncovered returns the scalable resources of which an entry's rules do not match the updates.
func (d *diagnosis) uncovered(hook *admissionregistrationv1.MutatingWebhook) (names []string) {
	for _, resource := range d.served.scalable {
		covers := func(r admissionregistrationv1.RuleWithOperations) bool { return matchesUpdates(r, resource) }
		if !slices.ContainsFunc(hook.Rules, covers) {
			names = append(names, resource.String())
		}
	}
	if len(names) > maxNames {
		names = append(names[:maxNames], "…")
	}
	return names
}

// matchesUpdates reports whether a rule matches updates of a namespaced resource. Its versions do not matter: with matchPolicy
// Equivalent, a rule for one version matches the others.
func matchesUpdates(rule admissionregistrationv1.RuleWithOperations, resource schema.GroupResource) bool {
	one := func(names []string, name string) bool {
		return slices.Contains(names, "*") || slices.Contains(names, name)
	}
	operation := slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) ||
		slices.Contains(rule.Operations, admissionregistrationv1.Update)
	scope := rule.Scope == nil || *rule.Scope != admissionregistrationv1.ClusterScope
	return operation && scope && one(rule.APIGroups, resource.Group) &&
		(one(rule.Resources, resource.Resource) || slices.Contains(rule.Resources, "*/*") ||
			slices.Contains(rule.Resources, resource.Resource+"/*"))
}
