package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

func TestOfferCountsWhatBecomesOfReviews(t *testing.T) {
	var count atomic.Int64
	o := offer(t.Context(), func(context.Context) answer { return answer(count.Add(1) % 3) }, 3000, 100*time.Millisecond)
	if sum := o.of[decided] + o.of[shed] + o.of[failed] + o.of[unsent]; sum != o.offered || len(o.times) != o.of[decided] {
		t.Errorf("got %s", o)
	}
	if sent := o.offered - o.of[unsent]; sent > 3 && (o.of[decided] == 0 || o.of[shed] == 0 || o.of[failed] == 0) {
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
	if o.offered > inFlight && o.of[unsent] == 0 {
		t.Errorf("got %s", o)
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
