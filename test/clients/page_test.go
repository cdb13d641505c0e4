package clients_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cell returns the text of a cell.
func cell(k key, r result) string {
	text := r.without + " → " + r.with
	i := slices.IndexFunc(notes(), func(n note) bool { return n.name == exceptions()[k].note })
	if i < 0 {
		return text
	}
	return fmt.Sprintf("%s [[%d]](#notes)", text, i+1)
}

// parse returns the result in a cell of the page. The notes may have changed since.
func parse(text string) (result, bool) {
	text, _, _ = strings.Cut(text, " [[")
	without, with, ok := strings.Cut(text, " → ")
	return result{without, with}, ok
}

// table is a table of the page.
type table struct {
	heading, intro, title string
	rows                  []row
	columns               []scenario
}

// row is a row of a table: a client, the program that has to be there to play it, and the scaler of its cells.
type row struct {
	name, by string
	scaler   *scaler
}

// bothTables returns the tables of the page.
func bothTables() []table {
	apply := table{"Clients that apply", "The scaler is a HorizontalPodAutoscaler.", "client", nil, scenarios()}
	for _, a := range appliers() {
		apply.rows = append(apply.rows, row{a.name, a.by, hpa()})
	}
	scale := table{"Clients that scale", "The client that applies is `kubectl apply`. A count of 7 or 0 is that of the scaler.", "scaler", nil, scalerScenarios()}
	for _, by := range scalers() {
		scale.rows = append(scale.rows, row{by.name, by.by, by})
	}
	return []table{apply, scale}
}

// each calls a function with each cell of the page.
func each(do func(k key, r row, s scenario)) {
	for _, t := range bothTables() {
		for _, r := range t.rows {
			for _, s := range t.columns {
				do(key{r.name, s.name}, r, s)
			}
		}
	}
}

// cells returns the texts of all cells: what this run has played, or else what the page records, or else that the cell was not
// played, with the reason.
func cells(played map[key]result) map[key]string {
	all := recorded()
	each(func(k key, r row, _ scenario) {
		got, ok := played[k]
		if !ok {
			got, ok = parse(all[k])
		}
		switch p := programByName(r.by); {
		case p.reason != "" && (!ok || !p.optional):
			all[k] = "not played: " + p.reason
		case ok:
			all[k] = cell(k, got)
		default:
			all[k] = "not played yet"
		}
	})
	return all
}

// tables returns the tables with the results.
func tables(cells map[key]string) string {
	var parts []string
	for _, t := range bothTables() {
		var b strings.Builder
		line := func(first string, text func(s scenario) string) {
			fmt.Fprintf(&b, "| %s", first)
			for _, s := range t.columns {
				fmt.Fprintf(&b, " | %s", text(s))
			}
			b.WriteString(" |\n")
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", t.heading, t.intro)
		line(t.title, func(s scenario) string { return s.name })
		b.WriteString(strings.Repeat("|---", len(t.columns)+1) + "|\n")
		for _, r := range t.rows {
			line(r.name, func(s scenario) string { return cells[key{r.name, s.name}] })
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "\n")
}

// page returns docs/clients.md.
func page(cells map[key]string) string {
	var b strings.Builder
	b.WriteString(`# Clients

This page shows what handoff does with the programs that apply manifests and the programs that scale. Each program is built from
its own source and played against a real API server. The tests in ` + "`test/clients`" + ` write this page; do not edit it.

Deployment/web has a manifest with ` + "`replicas: 3`" + `, and a scaler that has scaled it to 7. Each cell shows the stored
replicas after the last step, without handoff → with handoff. "conflict" is an apply that the API server refuses.

`)
	b.WriteString("| column | last step |\n|---|---|\n")
	for _, s := range scenarios() {
		fmt.Fprintf(&b, "| %s | %s |\n", s.name, s.meaning)
	}
	b.WriteString("\n" + tables(cells) + "\n## Notes\n\n")
	for i, n := range notes() {
		fmt.Fprintf(&b, "%d. %s\n", i+1, n.text)
	}
	b.WriteString("\n## Programs\n\n| program | version | how it is run |\n|---|---|---|\n")
	for _, p := range programs() {
		version, how := p.row(cells)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.title, version, how)
	}
	b.WriteString("\n`make test` plays Helm 4 and Flux. `make e2e-clients` plays all programs; with `UPDATE=yes`, it writes this page.\n")
	return b.String()
}

// TestThePageIsCurrent verifies that docs/clients.md has the cells, notes and versions that the tests define: every cell either
// with a result that the tests expect, or with the reason why it was not played.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	if suite.update {
		t.Skip("this run writes the page")
	}
	text := readPage(t)
	if diff := cmp.Diff(page(recorded()), text); diff != "" {
		t.Errorf("docs/clients.md is not what the tests would write (-want +got); run make e2e-clients UPDATE=yes:\n%s", diff)
	}
	got := recorded()
	each(func(k key, r row, s scenario) { checkCell(t, k, s, r, got[k]) })
}

// checkCell checks that a cell of the page has the expected result and its note, or a reason.
func checkCell(t *testing.T, k key, s scenario, r row, got string) {
	t.Helper()
	p := programByName(r.by)
	if p.optional && strings.HasPrefix(got, "not played: ") {
		return
	}
	if p.reason != "" && !p.optional {
		if want := "not played: " + p.reason; got != want {
			t.Errorf("%s, %s: got %q, want %q", k.row, k.column, got, want)
		}
		return
	}
	without, _, _ := strings.Cut(got, " → ")
	if want := cell(k, result{without, expected(k, s, r.scaler)}); got != want {
		t.Errorf("%s, %s: got %q, want %q", k.row, k.column, got, want)
	}
}
