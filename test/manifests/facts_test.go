package manifests_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/webhook"
	facts "github.com/ownership-handoff/handoff/webhook/cluster"
	"github.com/ownership-handoff/handoff/webhook/serving"
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

func TestOverlaysAndChartInstallTheSameVersion(t *testing.T) {
	t.Parallel()
	tag := regexp.MustCompile(`newTag: (\S+)`).FindStringSubmatch(read(t, "base", "kustomization.yaml"))
	version := regexp.MustCompile(`appVersion: (\S+)`).FindStringSubmatch(read(t, "chart", "Chart.yaml"))
	if tag == nil || version == nil || tag[1] != version[1] {
		t.Errorf("newTag of base %v, appVersion of the chart %v", tag, version)
	}
}

// described collects the names of metrics instead of registering them.
type described struct{ names []string }

func (d *described) MustRegister(collectors ...prometheus.Collector) {
	descriptions := make(chan *prometheus.Desc, 100)
	for _, c := range collectors {
		c.Describe(descriptions)
	}
	close(descriptions)
	for description := range descriptions {
		d.names = append(d.names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(description.String())[1])
	}
}
func (d *described) Register(prometheus.Collector) error  { return nil }
func (d *described) Unregister(prometheus.Collector) bool { return false }

func TestAlertsAndPanelsUseTheMetricsOfHandoff(t *testing.T) {
	t.Parallel()
	var has described
	webhook.NewMetrics(&has)
	serving.New(serving.Options{Registerer: &has}, nil)
	labels, err := new(facts.State).RepairLabels(&rest.Config{}, http.DefaultClient, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	checks := serving.NewHealth(logr.Discard(), serving.Check{Name: "certificate"}).Metrics()
	has.MustRegister(slices.Concat(labels.Metrics(), checks, []prometheus.Collector{new(facts.State).Ages()})...)
	text := read(t, "components", "monitoring", "prometheusrule.yaml") + read(t, "components", "monitoring", "dashboard.json")
	used := regexp.MustCompile(`\bhandoff_[a-z_]+`).FindAllString(strings.ReplaceAll(text, "_bucket", ""), -1)
	for _, name := range used {
		if !slices.Contains(has.names, name) {
			t.Errorf("%s is not a metric of handoff, which has %v", name, has.names)
		}
	}
	for _, name := range has.names {
		if !slices.Contains(used, name) {
			t.Errorf("%s is in no alert and no panel", name)
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
