package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
	"github.com/ownership-handoff/handoff/test/objects"
	"github.com/ownership-handoff/handoff/test/packs"
)

// cataloguePage is the page of which the test of the catalogue writes the tables.
const cataloguePage = "../../docs/catalogue.md"

// checkCataloguePage compares the tables of the page with the rules and the results of each entry, in the order of the syncers, or writes
// them.
func checkCataloguePage(t *testing.T, all []*packs.Entry, results [][]string) {
	t.Helper()
	page := golden.Read(t, cataloguePage)
	want := golden.WithTable(golden.WithTable(page, "Rules", rulesTable(t)), "Results", resultsTable(all, results))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		objects.Write(t, want, cataloguePage)
		return
	}
	expect.Equal(t, "docs/catalogue.md is not what the test would write; run it with UPDATE_GOLDEN=1", want, page)
}

func rulesTable(t *testing.T) [][]string {
	t.Helper()
	rows := [][]string{{"rule", "for", "kinds", "fields", "writers", "edit", "without handoff"}}
	for _, name := range config.Packs() {
		p, err := config.ReadPack(name)
		expect.NoError(t, err)
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
			rows = append(rows, []string{code(rule.Name), p.Title, code(kinds...), code(rule.Fields...), code(rule.Writers...), string(rule.Edits()), lost})
		}
	}
	return rows
}

func resultsTable(all []*packs.Entry, results [][]string) [][]string {
	columns := []string{"rule", "entry"}
	for _, s := range syncers() {
		columns = append(columns, s.name)
	}
	rows := [][]string{append(columns, "edited manifest")}
	for i, p := range all {
		edited := "–"
		if p.Edit != nil {
			edited = "wins"
		}
		rows = append(rows, slices.Concat([]string{code(p.Rule), p.Entry}, results[i], []string{edited}))
	}
	return rows
}

func code(texts ...string) string {
	if len(texts) == 0 {
		return "any controller"
	}
	return "`" + strings.Join(texts, "`, `") + "`"
}
