package ratelimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
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
		expect.Equal(t, "said", []int{1, 7, 3}, said)
	})
}
