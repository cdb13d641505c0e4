package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

func TestTargets(t *testing.T) {
	for sentence, test := range map[string]struct {
		value, target   float64
		atLeast, missed bool
	}{
		"no target":       {value: 1},
		"at most, equal":  {value: 1, target: 1},
		"at most, more":   {value: 1.1, target: 1, missed: true},
		"at least, equal": {value: 1, target: 1, atLeast: true},
		"at least, less":  {value: 0.9, target: 1, atLeast: true, missed: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := table.Row{Ratio: test.value, Target: test.target, AtLeast: test.atLeast}
			if missed := r.Missed(); missed != test.missed {
				t.Errorf("missed: got %t, want %t", missed, test.missed)
			}
		})
	}
}

func TestTheTableHasALineForEachRow(t *testing.T) {
	var got strings.Builder
	err := table.Print(&got, []table.Row{
		{What: "a", Handoff: "1", Reference: "2", Ratio: 0.5, Target: 0.4},
		{What: "b", Handoff: "3"},
		{What: "c", Ratio: 1, Target: 1, AtLeast: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `
| measured | handoff | reference | ratio | target |
|---|---|---|---|---|
| a | 1 | 2 | 0.50 | <= 0.40 **missed** |
| b | 3 |  |  |  |
| c |  |  | 1.00 | >= 1.00 met |
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPercentiles(t *testing.T) {
	var all []time.Duration
	for i := 100; i >= 0; i-- {
		all = append(all, time.Duration(i))
	}
	for _, p := range []float64{0, 50, 99, 100} {
		if got := table.Percentile(all, p); got != time.Duration(p) {
			t.Errorf("%v of 0 to 100: got %d", p, got)
		}
	}
	if got := table.Percentile(nil, 50); got != 0 {
		t.Errorf("of nothing: got %d", got)
	}
}
