package monitoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
)

// panels returns the queries of the dashboard's panels, as Prometheus gets them from Grafana, which replaces its variables.
func panels(t *testing.T) map[string]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(read(t, manifests, "components", "monitoring", "dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			queries[fmt.Sprintf("query %d of the panel %q", i+1, panel.Title)] = strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
		}
	}
	return queries
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestThePanelsOfTheDashboardAreQueries(t *testing.T) {
	queries := panels(t)
	for panel, query := range queries {
		if _, err := parser.ParseExpr(query); err != nil {
			t.Errorf("%s: %v", panel, err)
		}
	}
	if len(queries) == 0 {
		t.Error("no queries")
	}
}

func TestChartHasTheSameDashboard(t *testing.T) {
	kustomization, chart := read(t, manifests, "components", "monitoring", "dashboard.json"), read(t, manifests, "chart", "files", "dashboard.json")
	if diff := cmp.Diff(string(kustomization), string(chart)); diff != "" {
		t.Errorf("the chart's dashboard (-kustomization +chart):\n%s", diff)
	}
}
