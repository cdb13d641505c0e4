package e2e_test

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

// configured starts a webhook with a configuration of its own, which the API server also calls for the Deployments of the namespace.
// It returns the configuration's file as well.
func (n *namespace) configured(configuration string) (file string, webhook *handofftest.Webhook) {
	n.Helper()
	localOnly(n.T)
	file = n.file("config.yaml", configuration)
	webhook, err := handofftest.Start(n.Context(), cluster.Plane, handofftest.Options{Config: file})
	expect.NoError(n, err)
	n.Cleanup(func() {
		n.run("", "delete", "mutatingwebhookconfiguration", n.name)
		expect.NoError(n, webhook.Stop())
	})
	n.registered(testdata("hook-of-namespace"), n.name, webhook)
	return file, webhook
}

// registered makes the API server call a webhook.
func (n *namespace) registered(hook, name string, webhook *handofftest.Webhook) {
	n.Helper()
	n.apply(strings.NewReplacer("{name}", name, "{url}", webhook.URL, "{ca}", base64.StdEncoding.EncodeToString(webhook.CA)).Replace(hook))
}

// ruleFor is a configuration that assigns a field of Deployments to controllers.
func ruleFor(field string) string {
	return "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\n" +
		"rules: [{name: tested, kinds: [{group: apps, kind: Deployment}], fields: [" + field + "]}]\n"
}

// TestTheConfigurationIsFollowed verifies that a webhook that starts with a broken file uses the defaults, that a valid one comes into
// force without a restart, and that a broken one after it changes nothing.
func TestTheConfigurationIsFollowed(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	file, webhook := n.configured("kind: HandoffConfiguration\napplyers: []\n")
	has := func(metric string) bool {
		n.Helper()
		metrics, err := webhook.Metrics(t.Context())
		expect.NoError(t, err)
		return strings.Contains(metrics, metric)
	}
	broken := func() bool { n.Helper(); return has("handoff_check_problem{check=\"configuration\"} 1\n") }
	if log := webhook.Log(); !broken() || !strings.Contains(log, "applyers") || !strings.Contains(log, "using the defaults") {
		t.Errorf("the broken file is not reported: %s", tail(log))
	}
	seconds := func(seconds string) string { return with("minReadySeconds: "+seconds, deployment("3", "app:1")) }
	n.apply(seconds("3"))
	autoscaledTo(7).do(stage{namespace: n})
	n.apply(seconds("3"))
	n.wantReplicas(7)
	if !has(`decision="keep-autoscaled"`) { // the suite's webhook, which is called after this one, keeps them as well
		t.Error("with a broken file, the webhook does not keep replicas")
	}

	n.kubectl("patch", "deployment", "web", "--field-manager=my-operator", "-p", `{"spec":{"minReadySeconds":9}}`)
	n.rewrite(file, ruleFor(".spec.minReadySeconds"))
	n.eventually("the rule is in force", func() bool {
		return n.must(n.run(seconds("3"), "apply", "--dry-run=server", "-o", "jsonpath={.spec.minReadySeconds}", "-f", "-")).Stdout == "9"
	})
	expect.Equal(t, "the valid file is reported as broken", false, broken())
	n.rewrite(file, "{")
	n.eventually("the broken file is reported", broken)
	if log := webhook.Log(); !strings.Contains(log, "still using the last valid configuration") {
		t.Errorf("the log does not say what is used: %s", tail(log))
	}
	n.apply(seconds("4"))
	expect.Equal(t, "minReadySeconds, which the rule keeps with a broken file", "9", n.jsonpath(".spec.minReadySeconds"))
}

// rewrite replaces a file, as the kubelet does in a mounted ConfigMap.
func (n *namespace) rewrite(file, text string) {
	n.Helper()
	expect.NoError(n, os.Rename(objects.Write(n.T, text, file+".next"), file))
}
