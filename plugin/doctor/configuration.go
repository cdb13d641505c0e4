package doctor

import (
	"context"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkConfiguration finds the MutatingWebhookConfiguration, and kinds that its rules do not match.
func (d *diagnosis) checkConfiguration(context.Context) {
	if d.in.Unread != nil {
		d.check.gap("%v", d.in.Unread)
		return
	}
	if d.in.Missing() {
		d.check.found(d.object(), "not found: the API server does not call handoff, in any namespace", reinstall)
		return
	}
	for _, other := range d.in.Configurations[1:] {
		d.check.found(d.object(), "mutatingwebhookconfiguration/"+other.Name+" also calls handoff; a cluster can have one installation",
			"delete all but one: kubectl delete mutatingwebhookconfiguration NAME")
	}
	policies := sets.New[string]()
	for _, entry := range d.in.Entries() {
		policies.Insert(string(*entry.FailurePolicy)) // the API server sets it
		if unmatched := d.unmatched(entry); len(unmatched) > 0 {
			d.check.found(d.object(), "the rules of "+entry.Name+" do not match updates of "+short(strings.Join(unmatched, ", "))+
				", which can be scaled: handoff does not review them",
				reinstall, "if you have chosen the rules yourself, add these resources: docs/managed.md, explicit rules")
		}
	}
	d.check.Detail = d.object() + ", failurePolicy " + strings.Join(sets.List(policies), " and ")
}

// unmatched returns the resources that can be scaled and that the rules of an entry for objects in namespaces do not match.
func (d *diagnosis) unmatched(entry *registration.MutatingWebhook) (names []string) {
	for _, r := range d.served.Resources {
		if r.Scales && r.Namespaced && installation.Reviews(entry, schema.GroupResource{}, true) &&
			!installation.Reviews(entry, r.Name.GroupResource(), true) {
			names = append(names, r.String())
		}
	}
	return names
}
