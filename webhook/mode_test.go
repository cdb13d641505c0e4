package webhook_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/webhook"
)

// staleFacts is a cluster with stale watches.
type staleFacts struct {
	*facts

	since time.Time
}

func (o staleFacts) Stale() (time.Time, bool) { return o.since, !o.since.IsZero() }

// TestStaleFactsDecideWithAWarning verifies that a pod with stale cluster state decides by the last known owners, with a warning
// on each decision, and that users who have not opted in get no warning.
func TestStaleFactsDecideWithAWarning(t *testing.T) {
	const old = `^handoff: cluster state is 1m4[0-9]s old; autoscalers and modes may have changed since$`
	apply := update(csa, scaledBy7(), applied3())
	off := &facts{autoscaler: "HorizontalPodAutoscaler/web"}
	for sentence, c := range map[string]struct {
		cluster webhook.Cluster
		request request
		patched bool
		warned  bool
	}{
		"an apply, with current facts":              {staleFacts{enforced(), time.Time{}}, apply, true, false},
		"an apply":                                  {staleFacts{enforced(), time.Now().Add(-100 * time.Second)}, apply, true, true},
		"a write of no consequence":                 {staleFacts{enforced(), time.Now().Add(-100 * time.Second)}, update(csa, kept7(), kept7()), false, true},
		"an apply in a namespace that is not known": {staleFacts{off, time.Now().Add(-100 * time.Second)}, apply, false, false},
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
