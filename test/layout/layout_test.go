package layout_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
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
		"webhook/certs":       {},
		"webhook/cluster":     {"ownership", "internal"},
		"merge":               {"ownership", "internal"},
		"merge/schema":        {},
		"merge/threeway":      {"merge/schema", "internal/jsonnode"},
		"merge/twoway":        {"merge/schema", "internal/jsonnode"},
		"config":              {"ownership", "merge/schema", "internal"},
		"ownership":           {"internal"},
		"internal":            {"internal"},
	}
}

func TestImportsGoDownOneWay(t *testing.T) {
	known := layers()
	for pkg, imports := range importsOf(t) {
		layer := layerOf(known, pkg)
		if layer == "" {
			t.Errorf("%s has no layer: add it to this table", pkg)
			continue
		}
		for _, imported := range imports {
			if !slices.ContainsFunc(known[layer], func(allowed string) bool { return isIn(imported, allowed) }) {
				t.Errorf("%s imports %s: packages of %s import only %q", pkg, imported, layer, known[layer])
			}
		}
	}
}

// shared are the packages of this module that both programs link: what decides on a field, what reads the configuration, and what one
// says and the other recognizes.
func shared() []string {
	return []string{
		"config", "internal/apitypes", "internal/fieldpattern", "internal/fieldtree", "internal/jsontree", "internal/managedfields", "internal/optin", "internal/printable", "internal/protocol",
		"internal/scale", "merge", "merge/schema", "ownership",
	}
}

func TestProgramsShareOnlyWhatBothDecideBy(t *testing.T) {
	webhook, plugin := linkedBy(t, "cmd/handoff-webhook"), linkedBy(t, "cmd/kubectl-handoff")
	var both []string
	for _, path := range webhook {
		if own, ok := strings.CutPrefix(path, module); ok && slices.Contains(plugin, path) {
			both = append(both, own)
		}
	}
	slices.Sort(both)
	expect.Equal(t, "packages that both programs link", shared(), both)
}

// The webhook links neither a command line nor a printer, the plugin no cache, and the libraries for other projects no client.
func TestWhatPackagesDoNotLink(t *testing.T) {
	for program, forbidden := range map[string][]string{
		"merge/schema": {"net/http", "k8s.io"}, "merge/threeway": {"net/http", "k8s.io"}, "merge/twoway": {"net/http", "k8s.io"},
		"cmd/handoff-webhook": {"k8s.io/cli-runtime", "github.com/spf13/cobra"},
		"cmd/kubectl-handoff": {"sigs.k8s.io/controller-runtime"},
	} {
		for _, path := range linkedBy(t, program) {
			if slices.ContainsFunc(forbidden, func(prefix string) bool { return isIn(path, prefix) }) {
				t.Errorf("%s links %s", program, path)
			}
		}
	}
}

// TestTheLedgerSharesNoCodeWithTheProduct verifies that what judges the product is not the product.
func TestTheLedgerSharesNoCodeWithTheProduct(t *testing.T) {
	for _, imported := range strings.Fields(list(t, "-deps", module+"test/ledger")) {
		if own, ok := strings.CutPrefix(imported, module); ok && !isIn(own, "test") {
			t.Errorf("test/ledger imports %s", own)
		}
	}
}

// linkedBy returns the packages that a program links.
func linkedBy(t *testing.T, program string) []string {
	t.Helper()
	return strings.Fields(list(t, "-deps", module+program))
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
	expect.NoError(t, err)
	return string(out)
}
