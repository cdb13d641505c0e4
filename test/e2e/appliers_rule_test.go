package e2e_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

const ruleOfAnApplier = `
apiVersion: config.ownership-handoff.io/v1alpha1
kind: HandoffConfiguration
rules:
- {name: seconds, kinds: [{group: apps, kind: Deployment}], fields: [.spec.minReadySeconds], writers: [my-operator]}
`

// hookOfNamespace calls a webhook for the Deployments of one namespace, in addition to the suite's webhook.
const hookOfNamespace = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "{name}"}
webhooks:
- name: rules.appliers.test
  clientConfig: {url: "{url}/mutate", caBundle: "{ca}"}
  failurePolicy: Fail
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v1]
  reinvocationPolicy: IfNeeded
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "{name}"}}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments], scope: Namespaced}]
`

// configured starts a webhook with a configuration of its own, which the API server also calls for the Deployments of the namespace.
// It returns the configuration's file as well.
func (n *namespace) configured(configuration string) (file string, webhook *handofftest.Webhook) {
	n.Helper()
	localOnly(n.T)
	file = n.file("config.yaml", configuration)
	webhook, err := handofftest.Start(n.Context(), cluster.Plane, handofftest.Options{Config: file})
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() {
		n.run("", "delete", "mutatingwebhookconfiguration", n.name)
		if err := webhook.Stop(); err != nil {
			n.Error(err)
		}
	})
	n.registered(hookOfNamespace, n.name, webhook)
	return file, webhook
}

// registered makes the API server call a webhook.
func (n *namespace) registered(hook, name string, webhook *handofftest.Webhook) {
	n.Helper()
	n.apply(strings.NewReplacer("{name}", name, "{url}", webhook.URL, "{ca}", base64.StdEncoding.EncodeToString(webhook.CA)).Replace(hook))
}

// TestAControllerOfARuleThatUsesServerSideApply starts a webhook with a rule that lists the controller.
func TestAControllerOfARuleThatUsesServerSideApply(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.configured(ruleOfAnApplier)
	manifest := strings.Replace(deployment("3", "app:1"), "spec:\n", "spec:\n  minReadySeconds: 3\n", 1)
	want := func(what, seconds string) {
		t.Helper()
		if got := n.jsonpath(".spec.minReadySeconds"); got != seconds {
			t.Errorf("%s: want minReadySeconds %s, got %q", what, seconds, got)
		}
		managers := fieldManagers(t, n.object(), fieldpath.MakePathOrDie("spec", "minReadySeconds"))
		if len(managers) != 1 || managers[0] != "my-operator/Apply" {
			t.Errorf("%s: managers %q", what, managers)
		}
	}
	applied := func(manager, fields string) {
		t.Helper()
		n.appliedBy(manager, `{"apiVersion":"apps/v1","kind":"Deployment","spec":{`+fields+`}}`)
	}

	n.apply(manifest)
	applied("my-operator", `"minReadySeconds":9`)
	n.eventually("the API server calls the webhook with the rule", func() bool {
		return n.must(n.run(manifest, "apply", "--dry-run=server", "-o", "jsonpath={.spec.minReadySeconds}", "-f", "-")).stdout == "9"
	})
	n.apply(manifest)
	want("an apply", "9")
	for range 5 {
		n.unchangedBy("an unchanged apply", func() { n.apply(manifest) })
	}
	n.apply(deployment("3", "app:1"))
	want("a manifest without the field", "9")
	applied("my-operator", `"minReadySeconds":12`)
	want("the controller's next apply", "12")
	applied("flux-of-another-team", `"minReadySeconds":5,"revisionHistoryLimit":3`)
	want("another team's manifest", "12")
}
