package twoway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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

// TestUpstreamPatchesOfKustomize merges all objects of one kind and name that occur in one of kustomize's tests, in either
// direction: the resources and the patches to them.
func TestUpstreamPatchesOfKustomize(t *testing.T) {
	module := upstream.Dir(t, "sigs.k8s.io/kustomize/api")
	pairs, differences := 0, map[string]int{}
	for _, folder := range []string{"krusty", "resmap", "resource", "internal/builtins", "filters/patchstrategicmerge"} {
		if tests, _ := filepath.Glob(filepath.Join(module, folder, "*_test.go")); len(tests) == 0 {
			continue
		}
		for name, texts := range upstream.Texts(t, filepath.Join(module, folder)) {
			t.Run(folder+"/"+name, func(t *testing.T) {
				for _, objects := range objectsByName(t, texts) {
					for i := range objects {
						for j := range objects {
							pairs++
							c := twoWayCase{manifest: objects[i], live: objects[j], order: twoway.ListOrder(pairs % 2)}
							for _, difference := range c.compare(t) {
								differences[difference]++
							}
						}
					}
				}
			})
		}
	}
	t.Logf("%d pairs, by listed difference: %v", pairs, differences)
	if pairs < 500 {
		t.Errorf("%d pairs", pairs)
	}
}

// objectsByName returns the Kubernetes objects among the documents in texts, those of one kind and name together.
func objectsByName(t *testing.T, texts []string) map[string][]string {
	t.Helper()
	const few = 5 // of one name: what a test expects is often there for each of its steps
	objects := map[string][]string{}
	for _, text := range texts {
		if !strings.Contains(text, "kind:") {
			continue
		}
		decoder := yaml.NewDecoder(bytes.NewBufferString(text))
		for {
			var object map[string]any
			if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				break // a text of another kind, such as a template
			}
			metadata, _ := object["metadata"].(map[string]any)
			kind, _ := object["kind"].(string)
			name, _ := metadata["name"].(string)
			if kind == "" || name == "" || len(objects[kind+name]) == few {
				continue
			}
			encoded, err := json.Marshal(object)
			if err != nil {
				continue // a map with keys that are no strings
			}
			text := string(encoded)
			if !slices.Contains(objects[kind+name], text) {
				objects[kind+name] = append(objects[kind+name], text)
			}
		}
	}
	return objects
}
