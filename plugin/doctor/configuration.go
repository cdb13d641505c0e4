package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

// configuration returns the first configuration that calls handoff, nil if there is none.
func (d *diagnosis) configuration() *admissionregistrationv1.MutatingWebhookConfiguration {
	if len(d.in.Configurations) == 0 {
		return nil
	}
	return &d.in.Configurations[0]
}

func (d *diagnosis) object() string {
	if d.configuration() == nil {
		return "mutatingwebhookconfiguration/handoff"
	}
	return named("mutatingwebhookconfiguration", d.configuration().Name, "")
}

// checkConfiguration finds the MutatingWebhookConfiguration, and settings of its entries that keep them from working.
func (d *diagnosis) checkConfiguration(_ context.Context, c *Check) {
	if d.in.Unread != nil {
		c.unread(installation.ReadPermission, d.in.Unread)
		return
	}
	var names, policies []string
	for i := range d.in.Configurations {
		names = append(names, d.in.Configurations[i].Name)
	}
	for _, entry := range d.in.Entries() {
		if entry.FailurePolicy != nil && !slices.Contains(policies, string(*entry.FailurePolicy)) {
			policies = append(policies, string(*entry.FailurePolicy))
		}
	}
	switch len(names) {
	case 0:
		c.found(d.object(), "not found: the API server does not call handoff, in any namespace", d.reinstall()...)
		return
	case 1:
	default:
		c.found(d.object(), fmt.Sprintf("%d configurations call handoff: %s; a cluster can have one installation",
			len(names), strings.Join(names, ", ")), "delete all but one: kubectl delete mutatingwebhookconfiguration NAME")
	}
	if d.in.Main() == nil {
		c.found(d.object(), "webhook "+installation.MainEntry+" is missing", d.reinstall()...)
	}
	c.Detail = fmt.Sprintf("%s, failurePolicy %s", d.object(), strings.Join(policies, " and "))
	for _, entry := range d.in.Entries() {
		if installation.ReviewsObjects(entry) {
			d.checkEntry(c, entry)
		}
	}
}

func (d *diagnosis) checkEntry(c *Check, entry *admissionregistrationv1.MutatingWebhook) {
	if uncovered := d.uncovered(entry); len(uncovered) > 0 {
		c.found(d.object(), "the rules of "+entry.Name+" do not match updates of "+strings.Join(uncovered, ", ")+
			", which can be scaled: handoff does not review them",
			append(d.reinstall(), "if you have chosen the rules yourself, add these resources: docs/managed.md, explicit rules")...)
	}
	if entry.SideEffects == nil || *entry.SideEffects != admissionregistrationv1.SideEffectClassNone &&
		*entry.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		c.found(d.object(), "sideEffects of "+entry.Name+" is not NoneOnDryRun: the API server refuses dry runs", d.reinstall()...)
	}
	for i := range entry.MatchConditions {
		if strings.TrimSpace(entry.MatchConditions[i].Expression) == "false" {
			c.found(d.object(), "matchCondition "+entry.MatchConditions[i].Name+" of "+entry.Name+
				" is always false: the API server never calls handoff", d.reinstall()...)
		}
	}
}

// maxNames limits the names that a sentence lists.
const maxNames = 5

// uncovered returns the scalable resources of which an entry's rules do not match the updates.
func (d *diagnosis) uncovered(entry *admissionregistrationv1.MutatingWebhook) (names []string) {
	for _, resource := range d.served.scalable {
		if !installation.Covers(entry, resource) {
			names = append(names, resource.String())
		}
	}
	if len(names) > maxNames {
		names = append(names[:maxNames], "…")
	}
	return names
}
