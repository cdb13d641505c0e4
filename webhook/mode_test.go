package webhook_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/webhook"
)

// outdated is a cluster whose watches are lost.
type outdated struct {
	*facts

	since time.Time
}

func (o outdated) Stale() (time.Time, bool) { return o.since, !o.since.IsZero() }

// TestOutdatedFactsDecideAndSaySo verifies that a pod that has lost the API server keeps what it last knew to be owned, with
// a warning wherever something is decided, and that nobody hears of it who has not opted in.
func TestOutdatedFactsDecideAndSaySo(t *testing.T) {
	const old = `^handoff: cluster state is 1m4[0-9]s old; autoscalers and modes may have changed since$`
	apply := update(csa, scaledBy7(), applied3())
	off := &facts{autoscaler: "HorizontalPodAutoscaler/web"}
	for sentence, c := range map[string]struct {
		cluster webhook.Cluster
		request request
		patched bool
		warned  bool
	}{
		"an apply, with current facts":              {outdated{enforced(), time.Time{}}, apply, true, false},
		"an apply":                                  {outdated{enforced(), time.Now().Add(-100 * time.Second)}, apply, true, true},
		"a write of no consequence":                 {outdated{enforced(), time.Now().Add(-100 * time.Second)}, update(csa, kept7(), kept7()), false, true},
		"an apply in a namespace that is not known": {outdated{off, time.Now().Add(-100 * time.Second)}, apply, false, false},
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
