package clients_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

// cell returns the text of a cell.
func cell(k key, r result) string {
	text := r.without + " → " + r.with
	if note := exceptions()[k].note; note > 0 {
		return fmt.Sprintf("%s [[%d]](#notes)", text, note)
	}
	return text
}

// parse returns the result in a cell of the page. The notes may have changed since.
func parse(text string) (result, bool) {
	text, _, _ = strings.Cut(text, " [[")
	without, with, ok := strings.Cut(text, " → ")
	return result{without, with}, ok
}

// table is a table of the page.
type table struct {
	heading, title string
	rows           []row
	columns        []scenario
}

// row is a row of a table: a client, the program that has to be there to play it, and the scaler of its cells.
type row struct {
	name, by string
	scaler   *scaler
}

// tables returns the tables of the page.
func tables() []table {
	apply := table{"Clients that apply", "client", nil, scenarios()}
	for _, a := range appliers() {
		apply.rows = append(apply.rows, row{a.name, a.by, hpa()})
	}
	scale := table{"Clients that scale", "scaler", nil, scalerScenarios()}
	for _, by := range scalers() {
		scale.rows = append(scale.rows, row{by.name, by.by, by})
	}
	return []table{apply, scale}
}

// each calls a function with each cell of the page.
func each(do func(k key, r row, s scenario)) {
	for _, t := range tables() {
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

// page returns docs/clients.md, of which the tests write the tables.
func page(text string, cells map[key]string) string {
	for _, t := range tables() {
		rows := [][]string{{t.title}}
		for _, s := range t.columns {
			rows[0] = append(rows[0], s.name)
		}
		for _, r := range t.rows {
			line := []string{r.name}
			for _, s := range t.columns {
				line = append(line, cells[key{r.name, s.name}])
			}
			rows = append(rows, line)
		}
		text = golden.WithTable(text, t.heading, rows)
	}
	rows := [][]string{{"program", "version", "how it is run"}}
	for _, p := range programs() {
		version, how := p.row(cells)
		rows = append(rows, []string{p.title, version, how})
	}
	return golden.WithTable(text, "Programs", rows)
}

// TestThePageIsCurrent verifies that docs/clients.md has the cells and versions that the tests define: every cell either
// with a result that the tests expect, or with the reason why it was not played.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	if suite.update {
		t.Skip("this run writes the page")
	}
	want := recorded()
	each(func(k key, r row, s scenario) {
		switch p := programByName(r.by); {
		case p.reason == "" || p.optional && !strings.HasPrefix(want[k], "not played: "):
			without, _, _ := strings.Cut(want[k], " → ")
			want[k] = cell(k, result{without, expected(k, s, r.scaler)})
		case !p.optional:
			want[k] = "not played: " + p.reason
		}
	})
	text := golden.Read(t, pagePath())
	expect.Equal(t, "docs/clients.md is not what the tests would write; run make e2e-clients UPDATE=yes", page(text, want), text)
}
