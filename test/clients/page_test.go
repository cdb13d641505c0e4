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

// row is a row of a table: a client, and the program that has to be there to play it.
type row struct{ name, by string }

func applierRows() []row {
	all := make([]row, 0, len(appliers()))
	for _, a := range appliers() {
		all = append(all, row{a.name, a.by})
	}
	return all
}

func scalerRows() []row {
	all := make([]row, 0, len(scalers()))
	for _, s := range scalers() {
		all = append(all, row{s.name, s.by})
	}
	return all
}

// cells returns the texts of all cells: what this run has played, or else what the page records, or else that the cell was not
// played, with the reason.
func cells(played map[key]result) map[key]string {
	all := recorded()
	for _, r := range slices.Concat(applierRows(), scalerRows()) {
		for _, s := range scenarios() {
			k := key{r.name, s.name}
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
		}
	}
	return all
}

// tables returns the tables with the results.
func tables(cells map[key]string) string {
	var b strings.Builder
	b.WriteString("## Clients that apply\n\n")
	b.WriteString("The scaler is a HorizontalPodAutoscaler.\n\n")
	table(&b, "client", applierRows(), scenarios(), cells)
	if rows := scalerRows(); len(rows) > 0 {
		b.WriteString("\n## Clients that scale\n\n")
		b.WriteString("The client that applies is `kubectl apply`. A count of 7 or 0 is that of the scaler.\n\n")
		table(&b, "scaler", rows, scalerScenarios(), cells)
	}
	return b.String()
}

func table(b *strings.Builder, title string, rows []row, columns []scenario, cells map[key]string) {
	fmt.Fprintf(b, "| %s", title)
	for _, s := range columns {
		fmt.Fprintf(b, " | %s", s.name)
	}
	fmt.Fprintf(b, " |\n%s|\n", strings.Repeat("|---", len(columns)+1))
	for _, r := range rows {
		fmt.Fprintf(b, "| %s", r.name)
		for _, s := range columns {
			fmt.Fprintf(b, " | %s", cells[key{r.name, s.name}])
		}
		b.WriteString(" |\n")
	}
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
	for _, a := range appliers() {
		for _, s := range scenarios() {
			checkCell(t, key{a.name, s.name}, s, hpa(), a.by, got)
		}
	}
	for _, by := range scalers() {
		for _, s := range scalerScenarios() {
			checkCell(t, key{by.name, s.name}, s, by, by.by, got)
		}
	}
}

// checkCell checks that a cell of the page has the expected result and its note, or a reason.
func checkCell(t *testing.T, k key, s scenario, by *scaler, program string, got map[key]string) {
	t.Helper()
	p := programByName(program)
	if p.optional && strings.HasPrefix(got[k], "not played: ") {
		return
	}
	if p.reason != "" && !p.optional {
		if want := "not played: " + p.reason; got[k] != want {
			t.Errorf("%s, %s: got %q, want %q", k.row, k.column, got[k], want)
		}
		return
	}
	without, _, _ := strings.Cut(got[k], " → ")
	if want := cell(k, result{without, expected(k, s, by)}); got[k] != want {
		t.Errorf("%s, %s: got %q, want %q", k.row, k.column, got[k], want)
	}
}
