package twoway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

func TestTwoWayTakesLinearTime(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times")
	}
	list := func(size int, element func(i int) string) string {
		elements := make([]string, size)
		for i := range elements {
			elements[i] = element(i)
		}
		return `{"ports":[` + strings.Join(elements, ",") + `]}`
	}
	full := func(i int) string { return fmt.Sprintf(`{"port":80,"protocol":"P%d"}`, i) }
	other := func(i int) string { return fmt.Sprintf(`{"port":80,"protocol":"Q%d"}`, i) }
	partial := func(int) string { return `{"port":80}` }
	mixed := func(i int) string { return []string{full(i), partial(i)}[i%2] }
	for sentence, c := range map[string]struct{ manifest, live func(i int) string }{
		"ports of one number":                       {full, other},
		"ports of one number without a protocol":    {partial, full},
		"ports of one number, some with a protocol": {mixed, other},
		"live's ports of one number, some likewise": {other, mixed},
	} {
		t.Run(sentence, func(t *testing.T) {
			place := within("ports", schema.Strategy{List: schema.MergeByKey, Keys: []string{"port", "protocol"}})
			growth.WantLinear(t, 2000, func(size int) func() {
				manifest, live := []byte(list(size, c.manifest)), []byte(list(size, c.live))
				return func() {
					if _, err := twoway.MergeJSON(manifest, live, place, twoway.Options{}); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// TestTwoWayOfUnusualListsTakesTheUsualTime compares inputs of the same size. If a merge took quadratic time, the unusual lists
// would take about a hundred times as long.
func TestTwoWayOfUnusualListsTakesTheUsualTime(t *testing.T) {
	many := func(format string) string {
		texts := make([]string, 4000)
		for i := range texts {
			texts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(texts, ",")
	}
	nested := func(before, after string) string {
		const depth = 2000
		return strings.Repeat(`{"name":"a","list":[`+before, depth) + `{"name":"a"}` + strings.Repeat(after+`]}`, depth)
	}
	type inputs struct{ manifest, live string }
	for sentence, c := range map[string]struct{ usual, unusual inputs }{
		"elements of one name that set a field each": {
			usual:   inputs{`{"list":[` + many(`{"name":"a%d","field":1}`) + `]}`, `{"list":[{"name":"a"}]}`},
			unusual: inputs{`{"list":[` + many(`{"name":"a","field%d":1}`) + `]}`, `{"list":[{"name":"a"}]}`},
		},
		"elements of one name, which has many fields in live": {
			usual:   inputs{`{"list":[` + many(`{"name":"a%d","field":1}`) + `]}`, `{"list":[{"name":"a",` + many(`"field%d":1`) + `}]}`},
			unusual: inputs{`{"list":[` + many(`{"name":"a","field":%d}`) + `]}`, `{"list":[{"name":"a",` + many(`"field%d":1`) + `}]}`},
		},
		"lists within lists, in another order than in live": {
			usual:   inputs{nested("", `,{"name":"b"}`), nested("", `,{"name":"b"}`)},
			unusual: inputs{nested("", `,{"name":"b"}`), nested(`{"name":"b"},`, "")},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			const rounds, limit = 30, 8
			least := map[inputs]time.Duration{c.usual: time.Hour, c.unusual: time.Hour}
			for round := 0; round < 3 || round < rounds && least[c.unusual] > limit*least[c.usual]; round++ {
				for in := range least {
					start := time.Now()
					if _, err := twoway.MergeJSON([]byte(in.manifest), []byte(in.live), nil, twoway.Options{}); err != nil {
						t.Fatal(err)
					}
					least[in] = min(least[in], time.Since(start))
				}
			}
			if least[c.unusual] > limit*least[c.usual] {
				t.Errorf("it takes %v, usually %v", least[c.unusual], least[c.usual])
			}
		})
	}
}
