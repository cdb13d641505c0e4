package threeway_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	sptest "k8s.io/apimachinery/pkg/util/strategicpatch/testing"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/upstream"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// upstreamCase is a row of one of upstream's tables.
type upstreamCase struct {
	description          string
	base, manifest, live []byte
	result               []byte // nil where the table has none
}

// TestUpstreamTablesOfStrategicMergePatch runs the three-way tables of strategicpatch against Merge.
func TestUpstreamTablesOfStrategicMergePatch(t *testing.T) {
	folder := filepath.Join(upstream.Dir(t, "k8s.io/apimachinery"), "pkg", "util", "strategicpatch")
	file := filepath.Join(folder, "patch_test.go")
	cases := append(rawCases(t, file, "strategicMergePatchRawTestCases"), yamlCases(t, file, "createStrategicMergePatchTestCaseData")...)
	swagger := filepath.Join(folder, "testdata", "swagger-merge-item.json")
	theirs := strategicpatch.NewPatchMetaFromOpenAPI(sptest.GetSchemaOrDie(&sptest.Fake{Path: swagger}, "mergeItem"))
	place := swaggerSchema(t, swagger, "mergeItem")
	differences := map[string]int{}
	for _, c := range cases {
		t.Run(c.description, func(t *testing.T) {
			want, wantErr := upstreamByMeta(c, theirs)
			if wantErr == nil && c.result != nil && !cmp.Equal(sortedSets(fromJSON(t, c.result)), sortedSets(fromJSON(t, want))) {
				t.Fatalf("the table has %s, upstream makes %s", c.result, want)
			}
			got, err := threeway.MergeJSON(c.base, c.manifest, c.live, place, threeway.Options{})
			sameDecoded(t, place, c.base, c.manifest, c.live, got, err)
			difference := listedDifference(t, c, place, want, wantErr, got, err)
			differences[difference]++
			switch {
			case difference != "":
				t.Logf("listed: %s", difference)
			case wantErr != nil || err != nil:
				if wantErr == nil || err == nil {
					t.Errorf("error %v, upstream's %v", err, wantErr)
				}
			default:
				if diff := cmp.Diff(fromJSON(t, want), fromJSON(t, got)); diff != "" {
					t.Errorf("(-upstream +merge):\n%s", diff)
				}
			}
		})
	}
	t.Logf("%d cases, by listed difference: %v", len(cases), differences)
	if len(cases) < 100 || differences[""] < len(cases)*2/3 {
		t.Errorf("%d cases, by listed difference: %v", len(cases), differences)
	}
}

// listedDifference returns the heading of docs/merge-differences.md that lists a case, empty if none does.
func listedDifference(t *testing.T, c upstreamCase, place schema.Schema, want []byte, wantErr error, got []byte, err error) string {
	t.Helper()
	switch {
	case errors.Is(err, threeway.ErrDirective):
		return "Directives"
	case errors.Is(err, threeway.ErrDuplicate):
		return "Duplicate keys"
	case err != nil:
		return ""
	case wantErr != nil && strings.Contains(wantErr.Error(), "unable to find api field"):
		return "Unknown fields"
	case !isAddedAgain(fromJSON(t, c.base), fromJSON(t, c.manifest), fromJSON(t, c.live), place):
		return ""
	case wantErr != nil || cmp.Equal(withoutLeftovers(fromJSON(t, want)), withoutLeftovers(fromJSON(t, got))) && !cmp.Equal(fromJSON(t, want), fromJSON(t, got)):
		return "Leftovers"
	default:
		return ""
	}
}

func upstreamByMeta(c upstreamCase, meta strategicpatch.LookupPatchMeta) ([]byte, error) {
	patch, err := strategicpatch.CreateThreeWayMergePatch(c.base, c.manifest, c.live, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(c.live, patch, meta)
}

// TestUpstreamTablesOfJSONMergePatch runs the tables of jsonmergepatch.
func TestUpstreamTablesOfJSONMergePatch(t *testing.T) {
	file := filepath.Join(upstream.Dir(t, "k8s.io/apimachinery"), "pkg", "util", "jsonmergepatch", "patch_test.go")
	cases := yamlCases(t, file, "createJSONMergePatchTestCaseData")
	for _, c := range cases {
		t.Run(c.description, func(t *testing.T) {
			got, err := threeway.MergeJSON(c.base, c.manifest, c.live, schema.JSONMergePatch(), threeway.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fromJSON(t, c.result), fromJSON(t, got)); diff != "" {
				t.Errorf("(-upstream +merge):\n%s", diff)
			}
			sameDecoded(t, schema.JSONMergePatch(), c.base, c.manifest, c.live, got, nil)
		})
	}
	if len(cases) < 20 {
		t.Errorf("%d cases", len(cases))
	}
}

// rawCases returns the cases of a table of structs with YAML values.
func rawCases(t *testing.T, file, variable string) []upstreamCase {
	t.Helper()
	rows := upstream.Table(t, file, variable)
	cases := make([]upstreamCase, 0, len(rows))
	for _, row := range rows {
		c := upstreamCase{description: row["Description"], base: jsontest.FromYAML(t, row["Original"]), manifest: jsontest.FromYAML(t, row["Modified"]), live: jsontest.FromYAML(t, row["Current"])}
		if row["Result"] != "" {
			c.result = jsontest.FromYAML(t, row["Result"])
		}
		cases = append(cases, c)
	}
	return cases
}

// yamlCases returns the cases of a table that is a YAML document.
func yamlCases(t *testing.T, file, variable string) []upstreamCase {
	t.Helper()
	var table struct {
		TestCases []struct {
			Description                         string
			Original, Modified, Current, Result map[string]any
		}
	}
	if err := yaml.Unmarshal([]byte(upstream.String(t, file, variable)), &table); err != nil {
		t.Fatal(err)
	}
	object := func(value map[string]any) []byte {
		if value == nil {
			return []byte(`{}`)
		}
		return jsontest.Encode(t, value)
	}
	cases := make([]upstreamCase, 0, len(table.TestCases))
	for _, row := range table.TestCases {
		c := upstreamCase{description: row.Description, base: object(row.Original), manifest: object(row.Modified), live: object(row.Current)}
		if row.Result != nil {
			c.result = object(row.Result)
		}
		cases = append(cases, c)
	}
	return cases
}

// sortedSets sorts lists of scalars, as upstream's tests do before they compare.
func sortedSets(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = sortedSets(v[name])
		}
	case []any:
		for i := range v {
			v[i] = sortedSets(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(jsontest.Show(a), jsontest.Show(b)) })
	}
	return value
}

// swaggerPlace is a schema of an OpenAPI document of version 2, as far as upstream's tests need it.
type swaggerPlace struct {
	definitions, schema map[string]any
}

func swaggerSchema(t *testing.T, file, name string) schema.Schema {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // a file of the module cache
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Definitions map[string]any }
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	root, ok := document.Definitions[name].(map[string]any)
	if !ok {
		t.Fatalf("%s has no %s", file, name)
	}
	return swaggerPlace{document.Definitions, root}
}

func (p swaggerPlace) resolved() map[string]any {
	s := p.schema
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		s, _ = p.definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
	}
}

// Field implements schema.Schema.
func (p swaggerPlace) Field(name string) schema.Schema {
	properties, _ := p.resolved()["properties"].(map[string]any)
	if field, ok := properties[name].(map[string]any); ok {
		return swaggerPlace{p.definitions, field}
	}
	values, _ := p.resolved()["additionalProperties"].(map[string]any)
	return swaggerPlace{p.definitions, values}
}

// Element implements schema.Schema.
func (p swaggerPlace) Element() schema.Schema {
	items, ok := p.resolved()["items"].(map[string]any)
	if !ok {
		items = p.resolved() // the tables have lists where the type has a pointer
	}
	element := map[string]any{}
	for name, value := range items {
		element[name] = value
	}
	if strategies := p.strategies(); slices.Contains(strategies, "retainKeys") {
		element["x-kubernetes-patch-strategy"] = "retainKeys"
	}
	return swaggerPlace{p.definitions, element}
}

func (p swaggerPlace) strategies() []string {
	strategies, _ := p.schema["x-kubernetes-patch-strategy"].(string)
	return strings.Split(strategies, ",")
}

// Strategy implements schema.Schema.
func (p swaggerPlace) Strategy() schema.Strategy {
	strategies := p.strategies()
	s := schema.Strategy{}
	switch {
	case slices.Contains(strategies, "replace"):
		s.Object = schema.ReplaceObject
	case slices.Contains(strategies, "retainKeys"):
		s.Object = schema.RetainKeys
	}
	if key, keyed := p.schema["x-kubernetes-patch-merge-key"].(string); slices.Contains(strategies, "merge") {
		s.List = schema.MergeSet
		if keyed {
			s.List, s.Keys = schema.MergeByKey, []string{key}
		}
	}
	return s
}
