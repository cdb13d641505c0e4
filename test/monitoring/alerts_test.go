package monitoring_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

// healthy is what Prometheus sees of an installation without problems: a series and its values, one a minute.
func healthy() map[string]string {
	api := `{name="webhook.ownership-handoff.io"}`
	return map[string]string{
		`up{job="handoff-webhook", pod="a"}`: "1+0x120",
		`kube_deployment_status_replicas_available{namespace="handoff-system", deployment="handoff-webhook"}`: "2+0x120",
		`handoff_cache_age_seconds{pod="a", resource="namespaces"}`:                                           "3+0x120",
		`handoff_review_duration_seconds_count`:                                                               "0+600x120",
		`handoff_failed_open_total{reason="panic"}`:                                                           "0+1x120",
		`handoff_stale_namespace_labels`:                                                                      "0+0x120",
		`apiserver_admission_webhook_fail_open_count` + api:                                                   "5+0x120",
		`apiserver_admission_webhook_rejection_count` + api:                                                   "5+0x120",
		`apiserver_admission_match_condition_evaluation_errors_total` + api:                                   "5+0x120",
		`handoff_review_duration_seconds_bucket{le="0.1"}`:                                                    "0+600x120",
		`handoff_review_duration_seconds_bucket{le="+Inf"}`:                                                   "0+600x120",
		`handoff_check_problem{pod="a", check="certificate"}`:                                                 "0+0x120",
		`handoff_certificate_expiration_timestamp_seconds{pod="a"}`:                                           "7776000+0x120", // in 90 days
	}
}

func TestAlertsFireForTheirProblemOnly(t *testing.T) {
	objects := `{name="objects.ownership-handoff.io"}`
	for sentence, c := range map[string]struct {
		series map[string]string // instead of those of a healthy installation
		after  time.Duration
		want   []string
	}{
		"a healthy installation":                  {nil, 2 * time.Hour, nil},
		"no pod is up":                            {map[string]string{`up{job="handoff-webhook", pod="a"}`: "0+0x120"}, 6 * time.Minute, []string{"HandoffDown"}},
		"no pod is up, for a short time":          {map[string]string{`up{job="handoff-webhook", pod="a"}`: "0+0x120"}, 4 * time.Minute, nil},
		"the target has disappeared":              {map[string]string{`up{job="handoff-webhook", pod="a"}`: ""}, 6 * time.Minute, []string{"HandoffDown"}},
		"one of two pods is up":                   {map[string]string{`up{job="handoff-webhook", pod="b"}`: "0+0x120"}, time.Hour, nil},
		"no pod is ready":                         {map[string]string{`kube_deployment_status_replicas_available{namespace="handoff-system", deployment="handoff-webhook"}`: "0+0x120"}, 6 * time.Minute, []string{"HandoffNotReady"}},
		"a watch is not renewed":                  {map[string]string{`handoff_cache_age_seconds{pod="a", resource="namespaces"}`: "20+60x120"}, 3 * time.Minute, []string{"HandoffStale"}},
		"one review in fifty fails open":          {map[string]string{`handoff_failed_open_total{reason="panic"}`: "0+12x120"}, 16 * time.Minute, []string{"HandoffFailsOpen"}},
		"the API server gets no answer":           {map[string]string{`apiserver_admission_webhook_fail_open_count` + objects: "0+1x120"}, 16 * time.Minute, []string{"HandoffSkippedByAPIServer"}},
		"one apply in twenty minutes, unanswered": {map[string]string{`apiserver_admission_webhook_fail_open_count` + objects: "0+0x20 1+0x20 2+0x20 3+0x60"}, 59 * time.Minute, []string{"HandoffSkippedByAPIServer"}},
		"one review in twenty minutes fails open": {map[string]string{`handoff_review_duration_seconds_count`: "0+0x20 1+0x20 2+0x20 3+0x60", `handoff_failed_open_total{reason="panic"}`: "0+0x20 1+0x20 2+0x20 3+0x60"}, 59 * time.Minute, []string{"HandoffFailsOpen"}},
		"the first write without an answer":       {map[string]string{`apiserver_admission_webhook_fail_open_count` + objects: "_x90 1+0x30"}, 100 * time.Minute, []string{"HandoffSkippedByAPIServer"}},
		"a scrape that fails is no new series":    {map[string]string{`apiserver_admission_webhook_rejection_count` + objects: "5x30 stale 5x88"}, 41 * time.Minute, nil},
		"the first refused write":                 {map[string]string{`apiserver_admission_webhook_rejection_count` + objects: "_x90 1+0x30"}, 95 * time.Minute, []string{"HandoffRefuses"}},
		"the API server refuses writes":           {map[string]string{`apiserver_admission_webhook_rejection_count` + objects: "0+1x120"}, 5 * time.Minute, []string{"HandoffRefuses"}},
		"a match condition fails":                 {map[string]string{`apiserver_admission_match_condition_evaluation_errors_total` + objects: "0+1x120"}, 5 * time.Minute, []string{"HandoffMatchConditionErrs"}},
		"another webhook's errors do not count":   {map[string]string{`apiserver_admission_webhook_rejection_count{name="other.example.com"}`: "0+9x120"}, time.Hour, nil},
		"one review in fifty is slow":             {map[string]string{`handoff_review_duration_seconds_bucket{le="0.1"}`: "0+588x120", `handoff_review_duration_seconds_bucket{le="1"}`: "0+600x120"}, 16 * time.Minute, []string{"HandoffSlow"}},
		"the certificate expires in ten days":     {map[string]string{`handoff_certificate_expiration_timestamp_seconds{pod="a"}`: "864000+0x120"}, 62 * time.Minute, []string{"HandoffCertificateExpires"}},
		"a pod that has no certificate yet":       {map[string]string{`handoff_certificate_expiration_timestamp_seconds{pod="a"}`: "0+0x120"}, 2 * time.Hour, nil},
		"certificate files cannot be read":        {map[string]string{`handoff_check_problem{pod="a", check="certificate"}`: "1+0x120"}, 17 * time.Minute, []string{"HandoffCertificateProblem"}},
		"the configuration is broken":             {map[string]string{`handoff_check_problem{pod="a", check="configuration"}`: "1+0x120"}, 7 * time.Minute, []string{"HandoffConfigurationProblem"}},
		"a pod is starting":                       {map[string]string{`handoff_check_problem{pod="a", check="certificate"}`: "1+0x5 0+0x115"}, 17 * time.Minute, nil},
		"a namespace without its label":           {map[string]string{`handoff_stale_namespace_labels`: "1+0x120"}, 17 * time.Minute, []string{"HandoffNamespacesNotLabeled"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			series := healthy()
			maps.Copy(series, c.series)
			if diff := cmp.Diff(c.want, firing(t, series, c.after)); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
		})
	}
}

// Each alert has a case above in which it fires, so that none can be written that never fires.
func TestEachAlertIsTried(t *testing.T) {
	text := read(t, "alerts_test.go")
	for _, rule := range alerts(t) {
		if !strings.Contains(string(text), `[]string{"`+rule.Alert+`"}`) {
			t.Errorf("%s never fires in a test", rule.Alert)
		}
	}
}

// TestChartHasTheSameAlerts compares the alerts of the chart with those of the kustomization.
func TestChartHasTheSameAlerts(t *testing.T) {
	text := read(t, manifests, "chart", "files", "alerts.yaml")
	if diff := cmp.Diff(alerts(t), parse(t, text)); diff != "" {
		t.Errorf("the chart's alerts (-kustomization +chart):\n%s", diff)
	}
}

const manifests = "../../manifests"

// alerts returns the alerts of the PrometheusRule.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text := read(t, manifests, "components", "monitoring", "prometheusrule.yaml")
	var object struct {
		Spec any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	groups, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, groups)
}

// parse reads rules as Prometheus does, which also checks the expressions and the templates of the annotations.
func parse(t *testing.T, text []byte) (found []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation)
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, group := range groups.Groups {
		found = append(found, group.Rules...)
	}
	return found
}

// firing returns the names of the alerts that fire if the rules are evaluated every minute.
func firing(t *testing.T, series map[string]string, after time.Duration) (names []string) {
	t.Helper()
	load := "load 1m\n"
	for _, name := range slices.Sorted(maps.Keys(series)) {
		if series[name] != "" {
			load += fmt.Sprintf("  %s %s\n", name, series[name])
		}
	}
	storage := promqltest.LoadedStorage(t, load)
	defer storage.Close() //nolint:errcheck // in memory
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, 100000), storage)
	for _, r := range alerts(t) {
		expression, err := parser.ParseExpr(r.Expr)
		if err != nil {
			t.Fatal(err)
		}
		alert := rules.NewAlertingRule(r.Alert, expression, time.Duration(r.For), 0, labels.FromMap(r.Labels),
			labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, promslog.NewNopLogger())
		for at := time.Duration(0); at <= after; at += time.Minute {
			if _, err := alert.Eval(t.Context(), 0, time.Unix(0, 0).Add(at), query, &url.URL{}, 0); err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
		}
		for _, active := range alert.ActiveAlerts() {
			if active.State == rules.StateFiring {
				names = append(names, r.Alert)
			}
			active.Annotations.Range(func(l labels.Label) {
				if strings.Contains(l.Value, "error expanding template") || strings.Contains(l.Value, "<no value>") {
					t.Errorf("%s: %s: %s", r.Alert, l.Name, l.Value)
				}
			})
		}
	}
	return names
}
