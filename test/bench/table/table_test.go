package table_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

func TestTargets(t *testing.T) {
	for sentence, test := range map[string]struct {
		value, target float64
		limit         table.Limit
		met, targeted bool
	}{
		"no target":       {1, 0, table.AtMost, false, false},
		"at most, equal":  {1, 1, table.AtMost, true, true},
		"at most, more":   {1.1, 1, table.AtMost, false, true},
		"below, equal":    {1, 1, table.Below, false, true},
		"below, less":     {0.9, 1, table.Below, true, true},
		"at least, equal": {1, 1, table.AtLeast, true, true},
		"at least, less":  {0.9, 1, table.AtLeast, false, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := table.Row{Ratio: table.Ratio{Value: test.value}, Target: table.Ratio{Value: test.target}, Limit: test.limit}
			if met, targeted := r.Met(); met != test.met || targeted != test.targeted {
				t.Errorf("met %t, has a target %t", met, targeted)
			}
		})
	}
}

func TestMarkdownHasALineForEachRow(t *testing.T) {
	var got strings.Builder
	err := table.Markdown(&got, []table.Row{
		{What: "a", Handoff: "1", Reference: "2", Ratio: table.Ratio{Value: 0.5}, Target: table.Ratio{Value: 0.4}},
		{What: "b", Handoff: "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `| measured | handoff | reference | ratio | target |
|---|---|---|---|---|
| a | 1 | 2 | 0.50 | <= 0.40 missed |
| b | 3 |  |  |  |
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlopeIsThePowerOfTheSize(t *testing.T) {
	for _, power := range []float64{0, 1, 2} {
		points := make([]table.Point, 0, 4)
		for _, x := range []float64{1, 10, 50, 1000} {
			points = append(points, table.Point{x, 3 * math.Pow(x, power)})
		}
		if got := table.Slope(points); math.Abs(got-power) > 1e-9 {
			t.Errorf("power %v: got %v", power, got)
		}
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
