package threeway_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// joined joins n texts with commas, each with its number in place of each %[1]d.
func joined(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

func TestThreeWayTakesLinearTime(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times")
	}
	var types schema.Types
	place := types.Of(&corev1.Service{})
	growth.WantLinear(t, 1000, func(ports int) func() {
		service := func(format string) []byte { return []byte(`{"spec":{"ports":[` + joined(ports, format) + `]}}`) }
		base, live := service(`{"name":"p%[1]d","port":%[1]d}`), service(`{"name":"p%[1]d","port":%[1]d,"protocol":"TCP","nodePort":3%[1]d}`)
		manifest := service(`{"name":"p%[1]d","port":1%[1]d,"appProtocol":"http"}`) // some of them live's
		return func() {
			if _, err := threeway.Merge(base, manifest, live, place, threeway.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
