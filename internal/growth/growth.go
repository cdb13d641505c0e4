// Package growth measures for tests how CPU time grows with the size of the input, and compares the speed of two functions.
package growth

import (
	"syscall"
	"testing"
	"time"
)

// WantLinear fails the test if some work on an input of four times the size takes more than 12 times as long. prepare creates the
// input of a size, and returns the work. The race detector distorts the times: tests skip WantLinear if race.Enabled.
func WantLinear(t *testing.T, size int, prepare func(size int) (work func())) {
	t.Helper()
	works, least := [2]func(){prepare(size), prepare(4 * size)}, [2]time.Duration{time.Hour, time.Hour}
	isLinear := func() bool { return least[1] <= 12*least[0] } // quadratic work takes 16 times as long
	for round := 0; round < 3 || round < 20 && !isLinear(); round++ {
		for i, work := range works {
			begin := Used(t)
			work()
			least[i] = min(least[i], Used(t)-begin) // without garbage collection
		}
	}
	if !isLinear() {
		t.Errorf("four times the input takes %.1f times as long: %v and %v", float64(least[1])/float64(least[0]), least[0], least[1])
	}
}

// Used returns the CPU time of this process, which does not depend on other processes.
func Used(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// WantFaster compares the best of many alternating runs of two functions, so that the load of the machine matters little.
func WantFaster(t *testing.T, what string, ours, theirs func() error) {
	t.Helper()
	best := [2]time.Duration{time.Hour, time.Hour}
	for round := 0; round < 20 || round < 300 && best[1] < best[0]; round++ {
		for i, run := range []func() error{ours, theirs} {
			start := time.Now()
			if err := run(); err != nil {
				t.Fatal(err)
			}
			best[i] = min(best[i], time.Since(start))
		}
	}
	t.Logf("%s: %v, upstream %v, %.1f times as fast", what, best[0], best[1], float64(best[1])/float64(best[0]))
	if best[1] < best[0] {
		t.Errorf("%s: %v is not faster than %v", what, best[0], best[1])
	}
}
