package twoway_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/upstream"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// TestUpstreamTablesOfMerge2 runs kyaml's own tables against Merge.
func TestUpstreamTablesOfMerge2(t *testing.T) {
	folder := filepath.Join(upstream.Dir(t, "sigs.k8s.io/kustomize/kyaml"), "yaml", "merge2")
	count, differences := 0, map[string]int{}
	for file, variable := range map[string]string{
		"element_test.go": "elementTestCases", "list_test.go": "listTestCases", "map_test.go": "mapTestCases", "scalar_test.go": "scalarTestCases",
	} {
		for _, row := range upstream.Table(t, filepath.Join(folder, file), variable) {
			count++
			t.Run(file+"/"+row["description"], func(t *testing.T) {
				c := twoWayCase{manifest: row["source"], live: row["dest"], infer: row["infer"] == "true"}
				if row["ListIncreaseDirection"] == "MergeOptionsListPrepend" {
					c.order = twoway.ManifestFirst
				}
				table := decodeYAML(t, row["expected"])
				if strings.Contains(row["source"]+row["dest"], `# {"`) {
					differences["a schema in a comment"]++
					return // JSON has no comments
				}
				for _, difference := range c.compare(t) {
					differences[difference]++
					return
				}
				got, err := c.merge(t)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(formatted(table), formatted(got)); diff != "" {
					t.Errorf("(-table +merge):\n%s", diff)
				}
			})
		}
	}
	t.Logf("%d cases, by listed difference: %v", count, differences)
	if count < 60 {
		t.Errorf("%d cases", count)
	}
}

// compare merges with kyaml and with Merge. It returns the listed differences that may apply.
func (c twoWayCase) compare(t *testing.T) []string {
	t.Helper()
	manifest, live, place := decodeYAML(t, c.manifest), decodeYAML(t, c.live), kyamlSchema(c.infer)
	got, err := c.merge(t)
	if differences := listed(manifest, live, place, c.order); len(differences) > 0 {
		return differences
	}
	want, kyamlErr := kyamlMerge(yaml.NewRNode(nodeOf(manifest)), yaml.NewRNode(nodeOf(live)), c.infer, c.order)
	if (err == nil) != (kyamlErr == nil) {
		t.Fatalf("error %v, kyaml's %v\nmanifest %s\nlive %s", err, kyamlErr, string(jsontest.Encode(t, manifest)), string(jsontest.Encode(t, live)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-kyaml +merge):\n%s\nmanifest %s\nlive %s", diff, string(jsontest.Encode(t, manifest)), string(jsontest.Encode(t, live)))
	}
	return nil
}

// formatted drops nulls and sorts lists, as kyaml's tests do before they compare.
func formatted(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if v[name] == nil {
				delete(v, name)
			} else {
				v[name] = formatted(v[name])
			}
		}
	case []any:
		for i := range v {
			v[i] = formatted(v[i])
		}
		slices.SortFunc(v, func(a, b any) int {
			textA, errA := json.Marshal(a)
			textB, errB := json.Marshal(b)
			if errA != nil || errB != nil {
				return 0
			}
			return bytes.Compare(textA, textB)
		})
	}
	return value
}
