package doctor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkChanges finds fields of the entries that someone has written after the installation, such as an admission enforcer or a user with
// kubectl edit, and parts that have been removed, which managedFields does not record. GKE Autopilot changes the namespaceSelector during
// admission, in the name of the manager that installs (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security).
// Namespaces that are excluded although they have opted in are found with the namespaces.
func (d *diagnosis) checkChanges(context.Context) {
	text, err := json.Marshal(d.configuration)
	if err != nil {
		d.check.gap("%v", err)
	}
	o, _ := ownership.ParseObject(text) // the API server's own
	entries, _ := o.Entries()
	if len(entries) == 0 {
		d.check.gap("%s has no managedFields, so it is unknown who changed it", d.object())
	}
	managers, installed := config.Default().Managers(), fieldpath.NewSet()
	mainEntry := fieldpath.MakePathOrDie("webhooks", fieldpath.KeyByFields("name", installation.MainEntry), "name")
	for _, e := range entries {
		if managers.IsApplier(e) || e.Contains(mainEntry) { // such as kubectl create
			installed = installed.Union(fieldsOf(e))
		}
	}
	for _, e := range entries {
		d.checkWritten(e.Manager, fieldsOf(e).Difference(installed))
	}
	d.checkMissing()
	if len(d.check.Findings) == 0 {
		d.check.Detail = "as installed"
	}
}

func fieldsOf(e ownership.Entry) *fieldpath.Set {
	fields, _ := e.Set() // the API server's own
	return fields
}

// checkWritten finds the fields that a manager has written and no installation has. The caBundle is written in the cluster, and checked
// with the certificate.
func (d *diagnosis) checkWritten(manager string, fields *fieldpath.Set) {
	var written []string
	for path := range fields.Leaves().All() {
		if text := explain.Text(path); strings.HasPrefix(text, ".webhooks[") && !strings.HasSuffix(text, ".clientConfig.caBundle") {
			written = append(written, text)
		}
	}
	if len(written) == 0 {
		return
	}
	remedies := []string{
		"kubectl diff -k DIRECTORY, or: helm get manifest RELEASE -n " + d.namespace + " | kubectl diff -f -",
		reinstall + "; if something was added, delete " + d.object() + " first",
	}
	if !strings.HasPrefix(manager, "kubectl") { // the label does not remove what AKS has added
		remedies = slices.Insert(remedies, 1, "exempt it from the rules of "+manager+", on AKS with: "+
			"kubectl label "+d.object()+" admissions.enforcer/disabled=true")
	}
	d.check.found(d.object(), manager+" has written "+short(strings.Join(written, ", ")), remedies...)
}

// checkMissing finds entries and match conditions of the manifests that are missing, unless the installation has chosen others.
func (d *diagnosis) checkMissing() {
	if !d.sameRelease() || !d.in.FollowsLabel() {
		return
	}
	shipped, err := manifests.Objects[registration.MutatingWebhookConfiguration](manifests.Base, "MutatingWebhookConfiguration")
	if err != nil {
		d.check.gap("%v", err)
	}
	for _, wanted := range installation.EntriesOf(shipped...) {
		entry := installation.Find(d.in.Entries(), wanted.Name)
		if entry == nil {
			d.check.found(d.object(), "webhook "+wanted.Name+" is missing", reinstall)
			continue
		}
		for _, condition := range wanted.MatchConditions {
			isIt := func(c registration.MatchCondition) bool { return c.Name == condition.Name }
			if !slices.ContainsFunc(entry.MatchConditions, isIt) {
				d.check.found(d.object(), "matchCondition "+condition.Name+" of "+wanted.Name+" is missing", reinstall)
			}
		}
	}
}
