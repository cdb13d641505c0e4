package webhook_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/webhook"
)

// fakeStaleCluster is a cluster with stale watches.
type fakeStaleCluster struct {
	*fakeCluster

	since time.Time
}

func (o fakeStaleCluster) Stale() (time.Time, bool) { return o.since, !o.since.IsZero() }

// TestStaleFactsDecideWithAWarning verifies that a pod with stale cluster state decides by the last known owners, with a warning
// on each decision, and that users who have not opted in get no warning.
func TestStaleFactsDecideWithAWarning(t *testing.T) {
	const old = `^handoff: cluster state is 1m4[0-9]s old; autoscalers and modes may have changed since$`
	apply := update(csa, scaledBy7(), applied3())
	off := &fakeCluster{autoscaler: "HorizontalPodAutoscaler/web"}
	for sentence, c := range map[string]struct {
		cluster webhook.Cluster
		request request
		patched bool
		warned  bool
	}{
		"an apply, with current fakeCluster":        {fakeStaleCluster{enforced(), time.Time{}}, apply, true, false},
		"an apply":                                  {fakeStaleCluster{enforced(), time.Now().Add(-100 * time.Second)}, apply, true, true},
		"a write of no consequence":                 {fakeStaleCluster{enforced(), time.Now().Add(-100 * time.Second)}, update(csa, kept7(), kept7()), false, true},
		"an apply in a namespace that is not known": {fakeStaleCluster{off, time.Now().Add(-100 * time.Second)}, apply, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			response := newServer(t, c.cluster).answer(t, c.request.body())
			if (response.Patch != nil) != c.patched {
				t.Errorf("a patch: want %t, got %s", c.patched, response.Patch)
			}
			if got := len(response.Warnings) > 0 && regexp.MustCompile(old).MatchString(response.Warnings[0]); got != c.warned {
				t.Errorf("a warning of its age: want %t, got %s", c.warned, strings.Join(response.Warnings, "\n"))
			}
		})
	}
}
