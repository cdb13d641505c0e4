package monitoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	text, err := os.ReadFile(filepath.Join(manifests, "components", "monitoring", "dashboard.json"))
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
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
