package table_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
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
			expect.Equal(t, "missed", test.missed, r.Missed())
		})
	}
}

func TestPercentiles(t *testing.T) {
	var all []time.Duration
	for i := 100; i >= 0; i-- {
		all = append(all, time.Duration(i))
	}
	for _, p := range []float64{0, 50, 99, 100} {
		expect.Equal(t, fmt.Sprintf("%v of 0 to 100", p), time.Duration(p), table.Percentile(all, p))
	}
	expect.Equal(t, "of nothing", time.Duration(0), table.Percentile(nil, 50))
}
