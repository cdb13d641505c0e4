package monitoring_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
)

// served returns the labels of each metric that alerts and panels can use. Those in testdata/served.txt are metrics of the webhook
// and of the API server: TestMetricsOfAlertsAndPanelsAreServed in test/e2e compares the file with what they serve.
func served(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{
		"up": nil, // of Prometheus itself
		"kube_deployment_status_replicas_available": {"namespace", "deployment"}, // of kube-state-metrics
	}
	for line := range strings.Lines(string(read(t, "testdata", "served.txt"))) {
		name, names, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "}"), "{")
		if !ok {
			t.Fatalf("served.txt: %q is not a metric with its labels in braces", line)
		}
		metrics[name] = strings.Split(names, ",")
	}
	return metrics
}

// ofScraping returns the labels that Prometheus adds to each metric that it scrapes from a pod.
func ofScraping() []string { return []string{"job", "namespace", "pod", "instance"} }

func TestAlertsAndPanelsUseMetricsThatAreServed(t *testing.T) {
	queries := panels(t)
	for _, rule := range alerts(t) {
		queries["the alert "+rule.Alert] = rule.Expr
	}
	for series := range healthy() {
		queries["the series of the tests "+series] = series
	}
	metrics := served(t)
	unused := maps.Clone(metrics)
	for user, query := range queries {
		expression, err := parser.ParseExpr(query)
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		for _, used := range usedBy(expression) {
			labels, ok := metrics[used.metric]
			if !ok {
				t.Errorf("%s uses %s, which is not served", user, used.metric)
			}
			for _, label := range used.labels {
				if !slices.Contains(labels, label) && !slices.Contains(ofScraping(), label) {
					t.Errorf("%s uses the label %s, which %s does not have", user, label, used.metric)
				}
			}
			delete(unused, used.metric)
		}
	}
	if diff := cmp.Diff(map[string][]string{}, unused); diff != "" {
		t.Errorf("metrics that nothing uses (-want +got):\n%s", diff)
	}
}

// use is a metric in an expression, with the labels that the expression selects or aggregates by.
type use struct {
	metric string
	labels []string
}

func usedBy(expression parser.Expr) (uses []use) {
	parser.Inspect(expression, func(node parser.Node, parents []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		used := use{metric: selector.Name}
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != "__name__" {
				used.labels = append(used.labels, matcher.Name)
			}
		}
		for _, parent := range parents {
			if aggregation, ok := parent.(*parser.AggregateExpr); ok {
				used.labels = append(used.labels, aggregation.Grouping...)
			}
		}
		uses = append(uses, used)
		return nil
	})
	return uses
}
