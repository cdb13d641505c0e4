package twoway_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

var update = flag.Bool("update", false, "write kustomize_schema.txt")

// TestKustomizeSchemaFileEqualsKyaml reduces kyaml's OpenAPI documents once more.
func TestKustomizeSchemaFileEqualsKyaml(t *testing.T) {
	const file = "kustomize_schema.txt"
	want := reducedOpenAPI(t)
	if *update {
		expect.NoError(t, os.WriteFile(file, want, 0o600))
	}
	got := golden.Read(t, file)
	expect.Equal(t, file+" is not what go generate makes", strings.Split(string(want), "\n"), strings.Split(got, "\n"))
}

// reducer reduces OpenAPI definitions to what a merge needs.
type reducer struct {
	t           *testing.T
	definitions map[string]*openapi.ResourceSchema
	// lists are the definitions that contain lists that merge, or objects of unknown type.
	lists map[string]bool
}

func reducedOpenAPI(t *testing.T) []byte {
	t.Helper()
	openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "v1", Kind: "Pod"}) // reads the documents
	r := reducer{t: t, definitions: map[string]*openapi.ResourceSchema{}, lists: map[string]bool{}}
	for name, definition := range openapi.Schema().Definitions {
		r.definitions[name] = &openapi.ResourceSchema{Schema: &definition}
	}
	names := slices.Sorted(maps.Keys(r.definitions))
	for before := -1; before < len(r.lists); {
		before = len(r.lists)
		for _, name := range names {
			if slices.ContainsFunc(r.fields(name), func(line string) bool { return strings.Contains(line, "[") || !strings.HasSuffix(line, " -") }) {
				r.lists[name] = true
			}
		}
	}
	var out bytes.Buffer
	var plain []string // kinds without such lists
	for _, name := range names {
		kinds := r.kinds(name)
		switch {
		case r.lists[name]:
			line := short(name)
			if len(kinds) > 0 {
				line += ": " + strings.Join(kinds, ", ")
			}
			fmt.Fprintf(&out, "%s\n%s\n", line, strings.Join(r.fields(name), "\n"))
		default:
			plain = append(plain, kinds...)
		}
	}
	fmt.Fprintf(&out, "-: %s\n", strings.Join(plain, ", "))
	return out.Bytes()
}

// kinds returns the kinds that a definition describes.
func (r reducer) kinds(name string) []string {
	extension, _ := r.definitions[name].Schema.Extensions["x-kubernetes-group-version-kind"].([]any)
	kinds := make([]string, 0, len(extension))
	for _, e := range extension {
		gvk, _ := e.(map[string]any)
		apiVersion := strings.TrimPrefix(fmt.Sprintf("%v/%v", cmp.Or(gvk["group"], any("")), gvk["version"]), "/")
		kinds = append(kinds, fmt.Sprintf("%s %v", apiVersion, gvk["kind"]))
	}
	slices.Sort(kinds)
	return kinds
}

// fields returns the lines of a definition's fields.
func (r reducer) fields(name string) []string {
	d := r.definitions[name].Schema
	var lines []string
	for _, field := range slices.Sorted(maps.Keys(d.Properties)) {
		property := d.Properties[field]
		if target := r.target(&openapi.ResourceSchema{Schema: &property}); target != "" {
			lines = append(lines, " "+field+" "+target)
		}
	}
	if d.AdditionalProperties != nil && d.AdditionalProperties.Schema != nil {
		if target := r.target(&openapi.ResourceSchema{Schema: d.AdditionalProperties.Schema}); target != "" {
			lines = append(lines, " * "+target)
		}
	}
	return lines
}

// target returns the type of a field as the reduced schema has it, empty for scalars.
func (r reducer) target(of *openapi.ResourceSchema) string {
	s := of.Schema
	if name, ok := strings.CutPrefix(s.Ref.String(), "#/definitions/"); ok {
		d := r.definitions[name]
		switch {
		case len(d.Schema.Properties) == 0 && d.Schema.AdditionalProperties == nil:
			return r.target(d)
		case r.lists[name]:
			return short(name)
		}
		return "-"
	}
	switch {
	case s.Type.Contains("array"):
		strategies, keys := of.PatchStrategyAndKeyList()
		if !slices.Contains(strings.Split(strategies, ","), "merge") {
			return "-"
		}
		return "[" + strings.Join(keys, ",") + "] " + cmp.Or(r.target(&openapi.ResourceSchema{Schema: s.Items.Schema}), "-")
	case len(s.Properties) > 0:
		r.t.Fatalf("a type without a name: %v", s)
		return ""
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		target := r.target(&openapi.ResourceSchema{Schema: s.AdditionalProperties.Schema})
		if target == "" || target == "-" {
			return "-"
		}
		return "{" + target + "}"
	case len(s.Type) == 0 || s.Type.Contains("object"):
		return "?"
	default:
		return ""
	}
}

func short(name string) string { return strings.TrimPrefix(name, "io.k8s.") }
