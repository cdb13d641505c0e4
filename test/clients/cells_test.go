package clients_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// key identifies a cell of the tables.
type key struct{ row, column string }

// result is what a cell's scenario has stored, in a namespace without handoff and in one with it.
type result struct{ without, with string }

// results collects the results of a run.
type results struct {
	mutex  sync.Mutex
	played map[key]result
}

func (r *results) add(k key, got result) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.played[k] = got
	fmt.Fprintf(os.Stderr, "clients: %d played: %s, %s: %s without handoff, %s with it\n",
		len(r.played), k.row, k.column, got.without, got.with)
}

// TestAppliers plays each client that applies, with the HorizontalPodAutoscaler.
func TestAppliers(t *testing.T) {
	t.Parallel()
	for _, client := range appliers() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			playable(t, client.by, client.ci)
			for _, scenario := range scenarios() {
				t.Run(scenario.name, func(t *testing.T) {
					t.Parallel()
					play(t, client.name, scenario, client, hpa())
				})
			}
		})
	}
}

// TestScalers plays each client that scales, with kubectl apply.
func TestScalers(t *testing.T) {
	t.Parallel()
	for _, by := range scalers() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			playable(t, by.by, false)
			for _, scenario := range scalerScenarios() {
				t.Run(scenario.name, func(t *testing.T) {
					t.Parallel()
					play(t, by.name, scenario, kubectl("kubectl apply"), by)
				})
			}
		})
	}
}

// play plays a cell without handoff and with it, and compares the results with the page, and with what handoff promises.
func play(t *testing.T, row string, scenario scenario, client *applier, by *scaler) {
	t.Helper()
	var got result
	for handoff, to := range map[bool]*string{false: &got.without, true: &got.with} {
		t.Run(map[bool]string{false: "without handoff", true: "with handoff"}[handoff], func(t *testing.T) {
			*to = scenario.play(&stage{namespace: newNamespace(t, handoff), client: client, scaler: by})
		})
	}
	if t.Failed() {
		return
	}
	k := key{row, scenario.name}
	suite.results.add(k, got)
	expect.Equal(t, "with handoff", expected(k, scenario, by), got.with)
	if suite.update {
		return
	}
	if want, ok := recorded()[k]; !ok || want != cell(k, got) {
		t.Errorf("docs/clients.md says %q, want %q; run make e2e-clients UPDATE=yes", want, cell(k, got))
	}
}

// expected returns the result with handoff that a cell must have.
func expected(k key, scenario scenario, by *scaler) string {
	if e, ok := exceptions()[k]; ok {
		return e.with
	}
	if scenario.promise == "" {
		return by.to
	}
	return scenario.promise
}

// recorded returns the cells of the page by row and column.
func recorded() map[key]string {
	text, _ := os.ReadFile(pagePath()) // without a page, there are no cells
	cells := map[key]string{}
	var columns []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = nil
		case columns == nil:
			columns = fields
		default:
			for i := 1; i < min(len(fields), len(columns)); i++ {
				cells[key{fields[0], columns[i]}] = fields[i]
			}
		}
	}
	return cells
}
