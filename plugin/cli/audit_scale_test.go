package cli_test

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/cli"
)

func TestAuditReadsPages(t *testing.T) {
	c := &bigCluster{deployments: 5000, autoscalers: 1000, busy: true, expired: true}
	c.start(t)
	began := time.Now()
	code, output := run(t, nil, "audit", "-A", "--fail-on-risk")
	t.Logf("5,000 workloads and 1,000 autoscalers: %.2f s", time.Since(began).Seconds())
	if code != cli.ExitNegative {
		t.Errorf("exit code %d\n%s", code, output)
	}
	for _, want := range []string{
		"ns-3        deployment.apps/web-13    replicas   .spec.replicas   7     sets 3       off: would keep 7\n",
		"ns-2        deployment.apps/web-12    replicas   .spec.replicas   7     sets 3       keeps 7\n",
		"1000 risks in 5000 objects (deployments.apps).\n",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("want %s in\n%s", want, output[:min(len(output), 2000)])
		}
	}
	want := []string{"", "500", "1000", "1500", "1500", "anew-1500", "2000", "2500", "3000", "3500", "4000", "4500"}
	expect.Equal(t, "pages of Deployments", want, c.lists)
}

func TestIncompleteListIsPartial(t *testing.T) {
	c := &bigCluster{deployments: 5000, autoscalers: 10, broken: true}
	c.start(t)
	code, output := run(t, nil, "audit", "-A")
	if code != cli.ExitPartial || !strings.Contains(output, "10 risks in 1500 objects") ||
		!strings.Contains(output, "partial: deployments.apps: incomplete list: ") {
		t.Errorf("exit code %d\n%s", code, output)
	}
}

func TestTargetsNeedFewRequests(t *testing.T) {
	for sentence, test := range map[string]struct {
		cluster  *bigCluster
		line     string
		missing  int
		requests int // lists of Deployments
	}{
		"in lists that are read anyway": {&bigCluster{deployments: 990, autoscalers: 1000}, "audit -A", 10, 2},
		"by a list of their own":        {&bigCluster{deployments: 990, autoscalers: 1000}, "audit horizontalpodautoscalers -A", 10, 2},
		"not at all, if not requested":  {&bigCluster{deployments: 990, autoscalers: 1000}, "audit namespaces -A", 0, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.cluster.start(t)
			_, output := run(t, nil, words(test.line)...)
			if got := strings.Count(output, " no-target "); got != test.missing || len(test.cluster.lists) != test.requests {
				t.Errorf("want %d in %d lists, got %d in %d:\n%s", test.missing, test.requests, got, len(test.cluster.lists), output)
			}
		})
	}
}

// TestAuditKeepsNoObjects compares the peak memory of an audit of 2,500 objects with that of four times as many. The prefetched
// page is partly in memory, so both figures vary by some MB between runs. An audit that keeps its objects would take nearly three
// times the memory.
func TestAuditKeepsNoObjects(t *testing.T) {
	few, many := max(peak(t, 2500), peak(t, 2500)), peak(t, 10000)
	ratio := float64(many) / float64(few)
	t.Logf("at most %.1f MB for 2,500 objects, %.1f MB for 10,000: %.2f times as much", float64(few)/1e6, float64(many)/1e6, ratio)
	if ratio > 2 {
		t.Errorf("four times the objects take %.2f times the memory", ratio)
	}
}

// peak returns the peak memory of an audit, relative to the memory before. It measures at each request for a page.
func peak(t *testing.T, objects int) uint64 {
	t.Helper()
	maximum, before := uint64(0), inUse()
	c := &bigCluster{deployments: objects, autoscalers: 1000, onPage: func() { maximum = max(maximum, inUse()) }}
	c.start(t)
	if code, output := run(t, nil, "audit", "-A"); code != cli.ExitOK {
		t.Fatalf("exit code %d\n%s", code, output)
	}
	return maximum - min(before, maximum)
}

// inUse returns the memory that survives a garbage collection.
func inUse() uint64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
