package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/objects"
)

// manyFields writes a live ConfigMap with a number of fields, all of which a user has changed since the last apply, and a
// manifest with other values.
func manyFields(t *testing.T, fields int) (live, manifest string) {
	t.Helper()
	data, declared, other, entry := map[string]string{}, map[string]string{}, map[string]string{}, map[string]any{}
	for i := range fields {
		key := fmt.Sprintf("key-%05d", i)
		data[key], declared[key], other[key], entry["f:"+key] = "live", "applied", "other", map[string]any{}
	}
	object := func(data map[string]string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "many", "namespace": "shop"}, "data": data}
	}
	stored := object(data)
	stored["metadata"] = map[string]any{
		"name": "many", "namespace": "shop", "annotations": map[string]any{ownership.LastAppliedAnnotation: string(jsontest.Encode(t, object(declared)))},
		"managedFields": []any{
			map[string]any{"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1", "fieldsV1": map[string]any{
				"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + ownership.LastAppliedAnnotation: map[string]any{}}},
			}},
			map[string]any{"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "fieldsV1": map[string]any{"f:data": entry}},
		},
	}
	dir := t.TempDir()
	write := func(name string, o any) string {
		return objects.Write(t, string(jsontest.Encode(t, o)), dir, name)
	}
	return write("live.json", stored), write("manifest.json", object(other))
}

func TestTimeIsLinearInFields(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times: make test runs this test without it")
	}
	t.Setenv("KUBECONFIG", "/no/such/file")
	for name, command := range map[string]string{
		"explain as a tree":        "explain -f LIVE",
		"explain as data":          "explain -f LIVE -o json",
		"explain fields":           "explain -f LIVE .data.*",
		"explain fields of a word": "explain -f LIVE .data",
		"audit":                    "audit -f LIVE",
		"strip":                    "strip -f MANIFEST --live LIVE",
	} {
		t.Run(name, func(t *testing.T) {
			growth.WantLinear(t, 1500, func(fields int) func() {
				live, manifest := manyFields(t, fields)
				args := strings.Fields(strings.NewReplacer("LIVE", live, "MANIFEST", manifest).Replace(command))
				return func() {
					if code, output := run(t, nil, args...); code == cli.ExitError {
						t.Fatal(output)
					}
				}
			})
		})
	}
}
