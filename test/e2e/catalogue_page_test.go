package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/test/packs"
)

// cataloguePage is the page that the test of the catalogue writes.
const cataloguePage = "../../docs/catalogue.md"

// catalogueText returns the page with the results of each entry, in the order of the syncers.
func catalogueText(t *testing.T, all []*packs.Entry, results [][]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Catalogue

Packs are lists of [rules](rules.md) that handoff ships with, for fields that known controllers and people write. To use them, name them in the
[configuration](configuration.md):

` + "```yaml\npacks: [restarts, sleepers]\n```" + `

Your own rules come before those of packs: to change what a pack decides, write a rule for the same fields. The replicas that a
HorizontalPodAutoscaler, ScaledObject, Rollout, Canary or the cluster-autoscaler sets are kept without a pack.

The test ` + "`TestCatalogue`" + ` writes this page from [the packs](../config/catalogue), which say in which sources their field managers were found. Do not edit it:
` + "`UPDATE_GOLDEN=1 go test ./test/e2e -run TestCatalogue`" + `.

## Rules

`)
	header(&b, "rule", "for", "kinds", "fields", "writers", "edit", "without handoff")
	for _, name := range config.Packs() {
		p, err := config.ReadPack(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range p.Rules {
			_, of := config.PackOf(rule.Name)
			entry := p.Entries[of]
			var kinds []string
			for _, kind := range rule.Kinds {
				kinds = append(kinds, strings.TrimSuffix(kind.Kind+"."+kind.Group, ".core"))
			}
			lost := entry.Lost
			if entry.Thread != "" {
				lost += fmt.Sprintf(" [Thread](%s)", entry.Thread)
			}
			header := []string{code(rule.Name), p.Title, code(kinds...), code(rule.Fields...), code(rule.Writers...), string(rule.Edits()), lost}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(header, " | "))
		}
	}
	b.WriteString(`
No pack covers the variables that Reloader sets by default (list elements, which are not kept if the manifest drops them), pvc-autoresizer (the API
server refuses an apply with a smaller size), and topologies of Cluster API (set no ` + "`replicas`" + ` in them: autoscalers write MachineDeployments).

## Results

A manifest is applied to a real API server, the controller's recorded write follows, and the manifest is applied again. Each cell shows what
becomes of the field, without handoff → with handoff and the pack. Flux renames the entries of kubectl before it applies.
"replace" is Argo CD with Replace=true. The last column is an apply of a manifest with another value. ` + "`make e2e-clients`" + ` plays all entries with each
real client of [clients.md](clients.md), and nothing is lost, but with Ansible without ` + "`apply`" + `, which is no apply.

`)
	columns := []string{"rule", "entry"}
	for _, s := range syncers() {
		columns = append(columns, s.name)
	}
	header(&b, append(columns, "edited manifest")...)
	for i, p := range all {
		edited := "–"
		if p.Edit != nil {
			edited = "wins"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(p.Rule), p.Entry, strings.Join(results[i], " | "), edited)
	}
	return b.String() + readCensus(t).text()
}

func header(b *strings.Builder, columns ...string) {
	fmt.Fprintf(b, "| %s |\n%s|\n", strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
}

func code(texts ...string) string {
	if len(texts) == 0 {
		return "any controller"
	}
	return "`" + strings.Join(texts, "`, `") + "`"
}

// checkCataloguePage compares the page with its file, or writes it.
func checkCataloguePage(t *testing.T, text string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(cataloguePage, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(cataloguePage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(file)); diff != "" {
		t.Errorf("docs/catalogue.md is not what the test would write (-want +got); run it with UPDATE_GOLDEN=1:\n%s", diff)
	}
}
