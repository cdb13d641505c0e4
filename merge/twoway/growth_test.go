package twoway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
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
	one := func(int) string { return `{"port":80,"protocol":"P"}` }
	field := func(i int) string { return fmt.Sprintf(`{"port":80,"protocol":"P","field%d":1}`, i) }
	place, err := schema.OpenAPI([]byte(`{"type": "object", "properties": {"ports": {
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}}}`))
	expect.NoError(t, err)
	for sentence, c := range map[string]struct{ manifest, live func(i int) string }{
		"ports of one number":                    {full, other},
		"the same port, each with another field": {field, one},
	} {
		t.Run(sentence, func(t *testing.T) {
			growth.WantLinear(t, 2000, func(size int) func() {
				manifest, live := []byte(list(size, c.manifest)), []byte(list(size, c.live))
				return func() {
					_, err := twoway.Merge(manifest, live, place, twoway.Options{})
					expect.NoError(t, err)
				}
			})
		})
	}
}
