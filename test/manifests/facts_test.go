package manifests_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	registration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	return golden.Read(t, append([]string{cluster.root, "manifests"}, path...)...)
}

func TestTheGuardUsesTheDefaultFieldManagers(t *testing.T) {
	t.Parallel()
	listed := func(managers []string) string {
		var names, prefixes []string
		for _, m := range managers {
			if prefix, ok := strings.CutSuffix(m, "*"); ok {
				prefixes = append(prefixes, " || e.manager.startsWith('"+prefix+"')")
			} else {
				names = append(names, "'"+m+"'")
			}
		}
		return "e.manager in [" + strings.Join(names, ", ") + "]" + strings.Join(prefixes, "")
	}
	for name, policy := range kustomize(t, "guard") {
		if policy.GetKind() != "MutatingAdmissionPolicy" {
			continue
		}
		if kind, found := policy.Object["spec"].(map[string]any)["paramKind"]; found {
			t.Errorf("%s has parameters, %v: it would be evaluated for each of them", name, kind)
		}
		conditions, _, _ := unstructured.NestedSlice(policy.Object, "spec", "matchConditions")
		writer, _ := conditions[len(conditions)-1].(map[string]any)
		last, _, _ := unstructured.NestedString(writer, "expression")
		for _, want := range []string{
			listed(config.Default().Appliers), listed(config.Default().Imperative), listed(config.Default().Autoscalers),
		} {
			if !strings.Contains(last, want) {
				t.Errorf("%s does not contain\n%s\nin\n%s", name, want, last)
			}
		}
	}
}

func TestAlertsAndPanelsUseTheNamesOfTheWebhooks(t *testing.T) {
	t.Parallel()
	webhooks, _, err := unstructured.NestedSlice(kustomize(t, "base")["MutatingWebhookConfiguration/handoff"].Object, "webhooks")
	if err != nil || len(webhooks) != 4 {
		t.Fatalf("want four webhooks, got %d: %v", len(webhooks), err)
	}
	for _, file := range []string{"prometheusrule.yaml", "dashboard.json"} {
		text := read(t, "components", "monitoring", file)
		named := regexp.MustCompile(`apiserver_[a-z_]+\{name=~\\?"([^"\\]+)`).FindAllStringSubmatch(text, -1)
		if all := strings.Count(text, "apiserver_"); len(named) == 0 || len(named) != all {
			t.Errorf("%s uses %d metrics of the API server, and %d of handoff", file, all, len(named))
		}
		for _, n := range named {
			for _, w := range webhooks {
				name, _ := w.(map[string]any)["name"].(string)
				if !regexp.MustCompile("^(" + n[1] + ")$").MatchString(name) { // as Prometheus does
					t.Errorf("%s uses webhook name %s, which is not %s", file, n[1], name)
				}
			}
		}
	}
}

// TestRulesNameOnlyKindsThatAreSent compares the kinds that a configuration accepts with what the API server serves and sends.
func TestRulesNameOnlyKindsThatAreSent(t *testing.T) {
	t.Parallel()
	var installed registration.MutatingWebhookConfiguration
	convert(t, kustomize(t, "base")["MutatingWebhookConfiguration/handoff"].Object, &installed)
	excluded := installed.Webhooks[0].MatchConditions[0].Expression
	var sent []string // outside namespaces
	for _, rule := range installed.Webhooks[3].Rules {
		sent = append(sent, rule.Resources...)
	}
	for line := range strings.Lines(kubectl(t, "", "api-resources", "--no-headers").Stdout) {
		columns := strings.Fields(line) // name, short names, apiVersion, namespaced, kind
		name, apiVersion, kind := columns[0], columns[len(columns)-3], columns[len(columns)-1]
		group, _, named := strings.Cut(apiVersion, "/")
		if !named {
			group = "core"
		}
		if strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			continue // a custom resource of another test
		}
		want := columns[len(columns)-2] == "true" || slices.Contains(sent, name)
		if strings.Contains(excluded, "'"+name+"'") || strings.Contains(group, ".") && strings.Contains(excluded, "'"+group+"'") {
			want = false
		}
		_, err := config.Parse([]byte("{apiVersion: " + config.APIVersion + ", kind: " + config.Kind + ", rules: [{name: a, fields: [.metadata.labels.a], kinds: [{group: " +
			group + ", kind: " + kind + "}]}]}"))
		expect.Equal(t, "a rule is valid for "+kind+"."+group, want, err == nil)
	}
}
