package release_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// maxGrowth limits the growth of the time for four times as many fields. Linear work takes 4 times as long, quadratic 16 times.
const maxGrowth = 12

func TestTimeIsLinearInReleasedFields(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times: make test runs this test without it")
	}
	const few = 1500
	for name, c := range map[string]struct {
		kind, claims string
		annotated    bool
	}{
		"client-side":                       {"v1 ConfigMap", client, true},
		"server-side":                       {"v1 ConfigMap", "me/Apply", false},
		"server-side, of a custom resource": {"shop.example.com/v1 Gadget", "me/Apply", false},
		"client-side, of a custom resource": {"shop.example.com/v2 Gadget", client, true},
	} {
		t.Run(name, func(t *testing.T) {
			times := map[int]time.Duration{}
			for _, fields := range []int{few, 4 * few} {
				var data, claims, lines strings.Builder
				for i := range fields {
					fmt.Fprintf(&data, `,"key-%05d":"x"`, i)
					fmt.Fprintf(&claims, `,"f:key-%05d":{}`, i)
					fmt.Fprintf(&lines, "  key-%05d: x\n", i)
				}
				o := object{kind: c.kind, body: `{"data":{` + data.String()[1:] + `}}`}
				claimed := `"f:data":{` + claims.String()[1:] + `}`
				if c.annotated {
					o.annotated = o.body
					claimed += "," + annotation
				}
				o.claims = []string{claim(c.claims, claimed)}
				subject := o.subject(t)
				version, kind, _ := strings.Cut(c.kind, " ")
				manifest := source.Text{Name: "f", Content: []byte("apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: web}\ndata:\n" + lines.String())}
				for range 3 { // the minimum of three, to exclude garbage collection
					begin := used(t)
					plan, refusals := planOf(t, subject, ".data.*")
					if refusals == nil {
						everythingOf(t, plan, manifest)
					}
					if took := used(t) - begin; times[fields] == 0 || took < times[fields] {
						times[fields] = took
					}
				}
			}
			if growth := float64(times[4*few]) / float64(times[few]); growth > maxGrowth {
				t.Errorf("four times the fields take %.1f times as long: %v", growth, times)
			}
		})
	}
}

// everythingOf calls all methods of a plan that the command uses.
func everythingOf(t *testing.T, plan release.Plan, manifest source.Text) {
	t.Helper()
	if lines, err := plan.Lines([]source.Text{manifest}); err != nil || len(lines) == 0 {
		t.Fatal(lines, err)
	}
	if _, err := plan.Patch(); err != nil {
		t.Fatal(err)
	}
	if len(plan.Released) < 1000 || len(plan.Diff()) == 0 || len(plan.Without()) >= len(plan.With()) {
		t.Fatal("nothing was released")
	}
}

// used returns the CPU time of this process, which does not depend on other processes.
func used(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
