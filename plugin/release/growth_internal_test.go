package release

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
)

func TestTimeIsLinearInReleasedFields(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times: make test runs this test without it")
	}
	for name, c := range map[string]struct {
		kind, manager string
		annotated     bool
	}{
		"client-side":                       {"v1 ConfigMap", client, true},
		"server-side":                       {"v1 ConfigMap", "me/Apply", false},
		"server-side, of a custom resource": {"shop.example.com/v1 Gadget", "me/Apply", false},
		"client-side, of a custom resource": {"shop.example.com/v2 Gadget", client, true},
	} {
		t.Run(name, func(t *testing.T) {
			growth.WantLinear(t, 1500, func(fields int) func() {
				var data, managed strings.Builder
				for i := range fields {
					fmt.Fprintf(&data, `,"key-%05d":"x"`, i)
					fmt.Fprintf(&managed, `,"f:key-%05d":{}`, i)
				}
				o := object{kind: c.kind, body: `{"data":{` + data.String()[1:] + `},"other":{` + data.String()[1:] + `}}`}
				inEntry := `"f:data":{` + managed.String()[1:] + `}`
				if c.annotated {
					o.annotated = `{"data":{` + data.String()[1:] + `}}`
					inEntry += "," + annotation
				}
				o.entries = []string{entry(c.manager, inEntry), entry("kubectl-edit/Update", `"f:other":{`+managed.String()[1:]+`}`)}
				subject := o.subject(t)
				return func() {
					plan, refusals := planOf(t, subject, ".data.*")
					if refusals != nil {
						t.Fatal(refusals)
					}
					_, err := plan.patch()
					expect.NoError(t, err)
					if len(plan.Released) < 1000 || len(plan.Diff) == 0 {
						t.Fatal("nothing was released")
					}
				}
			})
		})
	}
}
