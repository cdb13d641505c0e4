package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

// TestMetricsOfAlertsAndPanelsAreServed compares the metrics that the alerts and the dashboard use with those that the webhook and
// the API server serve. The API server serves most of them only after the event that they count, so the test causes these events.
func TestMetricsOfAlertsAndPanelsAreServed(t *testing.T) {
	t.Parallel()
	localOnly(t) // a webhook without a server, in a cluster of others
	n := newAutoscaled(t)
	n.apply(deployment("3", "app:1"))
	n.kubectl("patch", "deployment", "web", "--field-manager=argocd-controller", "-p",
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{broken"}},"spec":{"replicas":3}}`)
	n.failWebhooks()

	want := strings.Split(strings.TrimSpace(golden.Read(t, "../monitoring/testdata/served.txt")), "\n")
	// This webhook repairs no labels. TestRepairsThatCannotSucceed in test/optin reads the metric.
	want = slices.DeleteFunc(want, func(line string) bool { return line == "handoff_namespace_label_repairs_total{result}" })
	var missing []string
	defer func() {
		for _, line := range missing {
			t.Errorf("%s is not served", line)
		}
	}()
	n.eventually("all metrics are served", func() bool {
		metrics, err := cluster.Webhook.Metrics(t.Context())
		expect.NoError(t, err)
		served := servedIn(metrics + "\n" + n.kubectl("get", "--raw", "/metrics").Stdout)
		missing = slices.DeleteFunc(slices.Clone(want), func(line string) bool { return served[line] })
		return len(missing) == 0
	})
}

// failWebhooks sends writes to webhooks that nobody answers.
func (n *namespace) failWebhooks() {
	n.Helper()
	const webhook = `
- name: %s.%s.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  failurePolicy: %s
  matchConditions: [{name: a, expression: %q}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %q}}
  objectSelector: {matchLabels: {webhook: %s}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]`
	var configuration strings.Builder
	configuration.WriteString("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: " + n.name + "}\nwebhooks:")
	for _, w := range []struct{ name, policy, condition string }{
		{"ignored", "Ignore", "true"}, {"refused", "Fail", "true"}, {"unmatched", "Ignore", "object.nosuch == 'a'"},
	} {
		fmt.Fprintf(&configuration, webhook, w.name, n.name, w.policy, w.condition, n.name, w.name)
	}
	n.apply(configuration.String())
	n.Cleanup(func() { n.run("", "delete", "mutatingwebhookconfiguration", n.name, "--ignore-not-found") })
	configMap := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-, labels: {webhook: " + name + "}}\n"
	}
	n.eventually("the API server calls the webhooks", func() bool { return n.run(configMap("refused"), "create", "-f", "-").Err != nil })
	for _, name := range []string{"ignored", "unmatched"} {
		if r := n.run(configMap(name), "create", "-f", "-"); r.Err != nil {
			n.Errorf("the webhook %s refuses a write: %s", name, r.Stderr)
		}
	}
}

// servedIn returns the metrics in a text of Prometheus' exposition format, each as its name with its labels in braces.
func servedIn(text string) map[string]bool {
	label := regexp.MustCompile(`([a-z_]+)="`)
	served := map[string]bool{}
	for line := range strings.Lines(text) {
		series, _, _ := strings.Cut(line, "} ")
		name, labels, _ := strings.Cut(series, "{")
		name, _, _ = strings.Cut(name, " ")
		var names []string
		for _, match := range label.FindAllStringSubmatch(labels, -1) {
			names = append(names, match[1])
		}
		slices.Sort(names)
		served[name+"{"+strings.Join(names, ",")+"}"] = true
	}
	return served
}
