package sequences_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// totals add up runs, in the file of -totals.
type totals struct {
	Last  uint64            `json:"last"` // the seed of the last run
	Seeds map[uint64]*total `json:"seeds"`
}

// total is what has been played of a seed: its first sequences.
type total struct {
	Sequences int `json:"sequences"`
	Writes    int `json:"writes"`
}

func readTotals(t *testing.T) *totals {
	t.Helper()
	all := &totals{Seeds: map[uint64]*total{}}
	text, err := os.ReadFile(*totalsFlag)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	if err == nil {
		err = json.Unmarshal(text, all)
	}
	expect.NoError(t, err)
	return all
}

// next returns the seed and the first sequence of a run, where they are not given.
func (a *totals) next(seed uint64, first int) (nextSeed uint64, nextFirst int) {
	if seed == 0 {
		seed = a.Last
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1_000_000)
	}
	if first < 0 {
		first = 0
		if known := a.Seeds[seed]; known != nil {
			first = known.Sequences
		}
	}
	return seed, first
}

// add records a run that has found nothing and goes on where the last one has ended, and logs the sum of all runs.
func (a *totals) add(t *testing.T, r *runner) {
	t.Helper()
	if t.Failed() || *totalsFlag == "" || *onlyFlag >= 0 || *kindFlag != "" || !a.count(r.seed, r.first, *sequencesFlag, r.counts.of["writes"]) {
		return
	}
	sum := total{}
	for _, each := range a.Seeds {
		sum.Sequences, sum.Writes = sum.Sequences+each.Sequences, sum.Writes+each.Writes
	}
	t.Logf("in all runs: %d sequences with %d writes", sum.Sequences, sum.Writes)
	text, err := json.MarshalIndent(a, "", "  ")
	if err == nil {
		err = os.WriteFile(*totalsFlag, append(text, '\n'), 0o600)
	}
	expect.NoError(t, err)
}

// count counts sequences, unless some before them are missing or they have been counted.
func (a *totals) count(seed uint64, first, sequences, writes int) (counted bool) {
	known := a.Seeds[seed]
	if known == nil {
		known = &total{}
	}
	if first != known.Sequences {
		return false
	}
	a.Last, a.Seeds[seed] = seed, &total{known.Sequences + sequences, known.Writes + writes}
	return true
}

func TestARunGoesOnWhereTheLastOneHasEnded(t *testing.T) {
	all := &totals{Seeds: map[uint64]*total{}}
	var got [][2]int
	for _, run := range []struct {
		seed  uint64
		first int
	}{{7, -1}, {0, -1}, {8, -1}, {7, -1}, {7, 3}, {7, 100}, {0, -1}} {
		seed, first := all.next(run.seed, run.first)
		all.count(seed, first, 10, 1000)
		got = append(got, [2]int{int(seed), first})
	}
	expect.Equal(t, "seeds and first sequences", [][2]int{{7, 0}, {7, 10}, {8, 0}, {7, 20}, {7, 3}, {7, 100}, {7, 30}}, got)
	expect.Equal(t, "totals", map[uint64]*total{7: {40, 4000}, 8: {10, 1000}}, all.Seeds)
}
