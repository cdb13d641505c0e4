package manifests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{cluster.root, "manifests"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheInstalledConfigurationIsTheDefault(t *testing.T) {
	t.Parallel()
	got, err := config.Parse([]byte(read(t, "base", "config.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Packs, want.Rules = []string{}, []config.Rule{} // present but empty
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheChartsListsAreTheDefaults(t *testing.T) {
	t.Parallel()
	var got struct{ Appliers, Imperative, Autoscalers []string }
	if err := yaml.Unmarshal([]byte(read(t, "chart", "files", "managers.yaml")), &got); err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	lists := [][]string{got.Appliers, got.Imperative, got.Autoscalers}
	if diff := cmp.Diff([][]string{want.Appliers, want.Imperative, want.Autoscalers}, lists); diff != "" {
		t.Errorf("appliers, imperative and autoscalers (-want +got):\n%s", diff)
	}
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
		if len(named) == 0 || len(named) != strings.Count(text, "(apiserver_") {
			t.Errorf("%s uses %d metrics of the API server, and %d of handoff", file, strings.Count(text, "(apiserver_"), len(named))
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
