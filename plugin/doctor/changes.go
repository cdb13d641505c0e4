package doctor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
)

// checkChanges compares the entries with what was installed: with the last-applied manifest if there is one, else with the
// manifests of this version. It also reports fields that a manager has written which applies no manifests, such as an admission
// enforcer or kubectl edit. What an installer chose, such as failurePolicy Fail in the values of the chart, is no finding.
func (d *diagnosis) checkChanges(_ context.Context, c *Check) {
	in := &d.install
	if in.configuration == nil {
		c.skip("no configuration")
		return
	}
	entries, err := entriesOf(in.configuration)
	if err != nil {
		c.gap("%s: reading managedFields of %s: %v", c.Name, in.object(), err)
	}
	if len(entries) == 0 {
		c.gap("%s: %s has no managedFields, so it is unknown who changed it", c.Name, in.object())
	}
	declared, applied := declaredHooks(in.configuration)
	if !applied && d.sameRelease() {
		declared = shippedHooks(c)
	}
	if in.followsLabel() || applied {
		d.missingHooks(c, declared)
	}
	for _, hook := range in.hooks {
		h := hookChanges{d: d, hook: hook, entries: entries, applied: applied}
		same := func(m admissionregistrationv1.MutatingWebhook) bool { return m.Name == hook.Name }
		if at := slices.IndexFunc(declared, same); at >= 0 {
			h.declared = &declared[at]
		}
		h.check(c)
	}
	c.Detail = "as installed"
	if len(c.Findings) > 0 {
		c.Detail = ""
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

// declaredHooks returns the entries in the last-applied manifest; ok is false if there is none, as with Helm.
func declaredHooks(of *admissionregistrationv1.MutatingWebhookConfiguration) (
	hooks []admissionregistrationv1.MutatingWebhook, ok bool,
) {
	var manifest admissionregistrationv1.MutatingWebhookConfiguration
	text := of.Annotations[ownership.LastAppliedAnnotation]
	if text == "" || json.Unmarshal([]byte(text), &manifest) != nil {
		return nil, false
	}
	return manifest.Webhooks, true
}

// shippedHooks returns the entries in the manifests of this version.
func shippedHooks(c *Check) []admissionregistrationv1.MutatingWebhook {
	shipped, err := manifests.Objects[admissionregistrationv1.MutatingWebhookConfiguration](
		manifests.Base, "MutatingWebhookConfiguration")
	if err != nil {
		c.gap("%s: %v", c.Name, err)
		return nil
	}
	var hooks []admissionregistrationv1.MutatingWebhook
	for i := range shipped {
		hooks = append(hooks, shipped[i].Webhooks...)
	}
	return hooks
}

func (d *diagnosis) missingHooks(c *Check, declared []admissionregistrationv1.MutatingWebhook) {
	for i := range declared {
		name := declared[i].Name
		has := func(hook *admissionregistrationv1.MutatingWebhook) bool { return hook.Name == name }
		if strings.HasSuffix(name, webhookSuffix) && !slices.ContainsFunc(d.install.hooks, has) && name != mainWebhook {
			c.found(d.install.object(), "webhook "+name+" is missing", d.reinstall()...)
		}
	}
}

// hookChanges compares one entry.
type hookChanges struct {
	d       *diagnosis
	hook    *admissionregistrationv1.MutatingWebhook
	entries []ownership.Entry
	// declared is what was installed, nil if that is unknown; applied reports whether it is the manifest itself, which also
	// contains the values that an installation can choose.
	declared *admissionregistrationv1.MutatingWebhook
	applied  bool
}

func (h *hookChanges) check(c *Check) {
	for _, field := range h.fields() {
		if field.isDeclared && equality.Semantic.DeepEqual(field.declared, field.live) {
			continue
		}
		// What is not in the manifest is defaulted. What an installation can choose is only known from its own manifest.
		differs := field.isDeclared && (h.applied || field.fixed) && !field.narrowed
		manager := h.foreign(field.path...)
		if !differs && manager == "" {
			continue
		}
		problem := field.name + " of " + h.hook.Name + " is " + field.now + ", not as installed"
		if manager != "" {
			problem = field.name + " of " + h.hook.Name + " was changed by " + manager + " to " + field.now
		}
		c.found(h.d.install.object(), problem, h.remedies(manager)...)
	}
}

// foreign returns a manager that wrote a field of the entry and applies no manifests; "" if the field was applied.
func (h *hookChanges) foreign(path ...any) string {
	managers := config.Default().Managers()
	all := append([]any{"webhooks", fieldpath.KeyByFields("name", h.hook.Name)}, path...)
	writer := ""
	for _, e := range ownership.EntriesFor(h.entries, fieldpath.MakePathOrDie(all...)) {
		if managers.IsApplier(e) {
			return ""
		}
		writer = e.Manager
	}
	return writer
}

// remedies returns how to restore a field that a manager has changed.
func (h *hookChanges) remedies(manager string) []string {
	remedies := h.d.reinstall()
	if manager != "" && h.d.install.configuration.Annotations[releaseName] != "" {
		remedies = append(remedies, "if Helm reports a conflict with "+manager+", add --force-conflicts")
	}
	switch {
	case strings.Contains(manager, "admissionsenforcer"):
		// The label comes first: it does not remove what the enforcer has added. https://learn.microsoft.com/en-us/azure/aks/faq
		remedies = slices.Insert(remedies, 0, "kubectl label mutatingwebhookconfiguration "+h.d.install.configuration.Name+
			" admissions.enforcer/disabled=true")
	case manager != "" && !strings.HasPrefix(manager, "kubectl"):
		remedies = append(remedies, "if "+manager+" changes it again, exempt "+h.d.install.object()+" from its rules")
	}
	return remedies
}
