package ratelimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

func TestDoReportsOncePerIntervalWithTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log ratelimit.Log
		var said []int
		happen := func(times int) {
			for range times {
				log.Do(10*time.Second, func(times int) { said = append(said, times) })
			}
		}
		happen(5)
		time.Sleep(9 * time.Second)
		happen(2)
		time.Sleep(time.Second)
		happen(3)
		time.Sleep(time.Hour)
		happen(1)
		if diff := cmp.Diff([]int{1, 7, 3}, said); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
	})
}
