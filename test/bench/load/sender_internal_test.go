package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

func TestOfferCountsWhatBecomesOfReviews(t *testing.T) {
	var count atomic.Int64
	o := offer(t.Context(), func(context.Context) answer { return answer(count.Add(1) % 3) }, 3000, 100*time.Millisecond)
	if o.decided+o.shed+o.failed != o.sent || len(o.times) != o.decided {
		t.Errorf("sent %d, not sent %d: %s", o.sent, o.unsent, o)
	}
	if o.sent > 3 && (o.decided == 0 || o.shed == 0 || o.failed == 0) {
		t.Errorf("got %s", o)
	}
}

func TestReviewsWithoutAFreeConnectionAreNotSent(t *testing.T) {
	const duration = 100 * time.Millisecond
	began := time.Now()
	blocked := func(context.Context) answer {
		time.Sleep(time.Until(began.Add(3 * duration)))
		return failed
	}
	o := offer(t.Context(), blocked, 100*inFlight, duration)
	if o.sent+o.unsent > inFlight && o.unsent == 0 {
		t.Errorf("sent %d, not sent %d", o.sent, o.unsent)
	}
}

func TestAnswersAreDistinguished(t *testing.T) {
	for text, want := range map[string]answer{
		`{"response":{"allowed":true,"patch":"W10="}}`:                                                       decided,
		`{"response":{"allowed":true,"warnings":["handoff: skipped, too many reviews in flight: the ..."]}}`: shed,
		`{"response":{"allowed":true}}`:                                                                      failed,
	} {
		if got := answerOf([]byte(text)); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}
