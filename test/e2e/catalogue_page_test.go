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

// cataloguePage is the page of which the test of the catalogue writes the tables.
const cataloguePage = "../../docs/catalogue.md"

// checkCataloguePage compares the tables of the page with the rules and the results of each entry, in the order of the syncers, or writes
// them.
func checkCataloguePage(t *testing.T, all []*packs.Entry, results [][]string) {
	t.Helper()
	page, err := os.ReadFile(cataloguePage)
	if err != nil {
		t.Fatal(err)
	}
	want := withTable(withTable(string(page), "Rules", rulesTable(t)), "Results", resultsTable(all, results))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(cataloguePage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("docs/catalogue.md is not what the test would write (-want +got); run it with UPDATE_GOLDEN=1:\n%s", diff)
	}
}

// withTable returns a page with another table below a heading.
func withTable(page, heading, table string) string {
	heading = "\n## " + heading + "\n"
	before, after, _ := strings.Cut(page, heading)
	start := strings.Index(after, "\n| ") + 1
	end := start + strings.Index(after[start:], "\n\n") + 1
	return before + heading + after[:start] + table + after[end:]
}

func rulesTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	row(&b, "rule", "for", "kinds", "fields", "writers", "edit", "without handoff")
	b.WriteString(strings.Repeat("|---", 7) + "|\n")
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
			row(&b, code(rule.Name), p.Title, code(kinds...), code(rule.Fields...), code(rule.Writers...), string(rule.Edits()), lost)
		}
	}
	return b.String()
}

func resultsTable(all []*packs.Entry, results [][]string) string {
	var b strings.Builder
	columns := []string{"rule", "entry"}
	for _, s := range syncers() {
		columns = append(columns, s.name)
	}
	row(&b, append(columns, "edited manifest")...)
	b.WriteString(strings.Repeat("|---", len(columns)+1) + "|\n")
	for i, p := range all {
		edited := "–"
		if p.Edit != nil {
			edited = "wins"
		}
		row(&b, code(p.Rule), p.Entry, strings.Join(results[i], " | "), edited)
	}
	return b.String()
}

func row(b *strings.Builder, cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

func code(texts ...string) string {
	if len(texts) == 0 {
		return "any controller"
	}
	return "`" + strings.Join(texts, "`, `") + "`"
}
