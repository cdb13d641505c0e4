package latency

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/kyverno"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// A machine that cannot build Kyverno still measures everything else.
func TestResultsHaveARowForKyvernoOrTheReasonWithoutOne(t *testing.T) {
	for sentence, test := range map[string]struct {
		spaces []*stage.Space
		reason error
		want   string
	}{
		"measured":  {[]*stage.Space{{Name: "k", Title: "Kyverno 1.2.3", Kyverno: kyverno.Keep}}, nil, "added p50 0.00 ms"},
		"not built": {nil, kyverno.ErrNotBuilt, "not measured: " + kyverno.ErrNotBuilt.Error()},
	} {
		t.Run(sentence, func(t *testing.T) {
			all := spaces(test.spaces)
			for _, m := range all {
				m.times = []time.Duration{time.Millisecond}
			}
			result := report(all, test.reason, 3000)
			i := slices.IndexFunc(result.Rows, func(r table.Row) bool { return strings.Contains(r.What, "Kyverno") })
			if i < 0 || !strings.Contains(result.Rows[i].Reference, test.want) {
				t.Errorf("want a row about Kyverno with %q, got %+v", test.want, result.Rows)
			}
		})
	}
}
