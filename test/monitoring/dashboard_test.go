package monitoring_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
)

func TestThePanelsOfTheDashboardAreQueries(t *testing.T) {
	texts := map[string]string{}
	for _, file := range []string{"components/monitoring/dashboard.json", "chart/files/dashboard.json"} {
		text, err := os.ReadFile(filepath.Join(manifests, file))
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
		var dashboard struct {
			Panels []struct {
				Title   string `json:"title"`
				Targets []struct {
					Expr string `json:"expr"`
				} `json:"targets"`
			} `json:"panels"`
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatal(err)
		}
		queries := 0
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				queries++
				// Grafana replaces its variables before Prometheus sees the query.
				if _, err := parser.ParseExpr(strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")); err != nil {
					t.Errorf("%s: %s: %v", file, panel.Title, err)
				}
			}
		}
		if queries == 0 {
			t.Errorf("%s: no queries", file)
		}
	}
	if diff := cmp.Diff(texts["components/monitoring/dashboard.json"], texts["chart/files/dashboard.json"]); diff != "" {
		t.Errorf("the chart's dashboard (-kustomization +chart):\n%s", diff)
	}
}
