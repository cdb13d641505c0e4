package layout_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ownership-handoff/handoff/"

// layers are the folders from the top down. A package imports packages of its own folder, and those that its layer names.
func layers() map[string][]string {
	return map[string][]string{
		"cmd/handoff-webhook": {"webhook", "config", "internal"},
		"cmd/kubectl-handoff": {"plugin/cli"},
		"plugin":              {"plugin", "config", "merge", "ownership", "internal", "manifests"},
		"manifests":           {},
		"webhook":             {"merge", "ownership", "internal"},
		"webhook/serving":     {"internal"},
		"webhook/certs":       {"internal"},
		"webhook/cluster":     {"ownership", "internal"},
		"merge":               {"merge/threeway", "ownership", "internal"},
		"merge/schema":        {},
		"merge/threeway":      {"merge/schema", "internal/strictjson"},
		"merge/twoway":        {"merge/schema", "internal/strictjson"},
		"config":              {"ownership", "internal"},
		"ownership":           {"internal"},
		"internal":            {"internal"},
	}
}

func TestImportsGoDownOneWay(t *testing.T) {
	known := layers()
	for pkg, imports := range importsOf(t) {
		layer := layerOf(known, pkg)
		if layer == "" {
			t.Errorf("%s has no layer: add it to the table, and to the layout in CONTRIBUTING.md", pkg)
			continue
		}
		for _, imported := range imports {
			if !slices.ContainsFunc(known[layer], func(allowed string) bool { return isIn(imported, allowed) }) {
				t.Errorf("%s imports %s: packages of %s import only %q", pkg, imported, layer, known[layer])
			}
		}
	}
}

// The webhook is linked without the plugin, the plugin without the webhook and the cache of controller-runtime.
func TestTheProgramsShareOnlyWhatBothDecideBy(t *testing.T) {
	for program, forbidden := range map[string][]string{
		"cmd/handoff-webhook": {module + "plugin", "k8s.io/cli-runtime", "github.com/spf13/cobra"},
		"cmd/kubectl-handoff": {module + "webhook", "sigs.k8s.io/controller-runtime"},
	} {
		t.Run(program, func(t *testing.T) {
			linked := strings.Fields(list(t, "-deps", module+program))
			if !slices.Contains(linked, module+"merge") {
				t.Fatalf("%s does not link %smerge", program, module)
			}
			for _, path := range linked {
				if slices.ContainsFunc(forbidden, func(prefix string) bool { return isIn(path, prefix) }) {
					t.Errorf("%s links %s", program, path)
				}
			}
		})
	}
}

// importsOf returns the packages of this module outside test/, each with its imports from this module, without the module's
// path.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	for line := range strings.Lines(list(t, "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...")) {
		pkg, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg = strings.TrimPrefix(pkg, module); isIn(pkg, "test") {
			continue
		}
		imports[pkg] = []string{}
		for path := range strings.FieldsSeq(rest) {
			if own, ok := strings.CutPrefix(path, module); ok {
				imports[pkg] = append(imports[pkg], own)
			}
		}
	}
	if len(imports) < 20 {
		t.Fatalf("go list finds %d packages", len(imports))
	}
	return imports
}

// layerOf returns the innermost folder of the table that a package is in.
func layerOf(known map[string][]string, pkg string) string {
	longest := ""
	for layer := range known {
		if isIn(pkg, layer) && len(layer) > len(longest) {
			longest = layer
		}
	}
	return longest
}

func isIn(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func list(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
