package webhook_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/ownership"
)

// mostExponent is the power of a review's size as which a cost may grow between n and 4n. Linear is 1 and quadratic 2. What is
// fixed in small reviews makes it less; a slice that was just doubled at 4n, and was nearly full at n, makes it more.
const mostExponent = 1.4

// A review that costs more than this, with a cost that has grown faster than the size, is not measured at the next size: it
// would not end.
const (
	tooLong   = 700 * time.Millisecond
	tooManyMB = 200
)

// runsAway reports whether a cost is already large, and grows faster than the size.
func runsAway(first, last step, share int) bool {
	large := last.time > tooLong/time.Duration(share) || last.bytesOf() > float64(tooManyMB<<20)/float64(share)
	return large && (slope(first, last, step.bytesOf) > mostExponent || slope(first, last, step.timeOf) > mostExponent)
}

// The live heap may grow by timesBody times the length of the body, and by what is allocated while a collection runs, which
// counts as live: collected bounds that. A review that allocates less than smallHeap in all is not looked at: the runtime's
// first collection comes no sooner than that (GOGC in https://pkg.go.dev/runtime).
const (
	timesBody = 32
	collected = 2 << 20
	smallHeap = 4 << 20
)

// eachDimension runs a check for each dimension, as a subtest.
func eachDimension(t *testing.T, check func(*testing.T, dimension)) {
	t.Helper()
	all := dimensions()
	for _, sentence := range slices.Sorted(maps.Keys(all)) {
		t.Run(sentence, func(t *testing.T) { check(t, all[sentence]) })
	}
}

// TestCostGrowsLinearly lets reviews grow in one dimension each, up to what the API server accepts, and compares bytes,
// allocations and time at n and 4n. Each review is allowed.
func TestCostGrowsLinearly(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector has costs of its own: make test runs this test without it")
	}
	eachDimension(t, func(t *testing.T, d dimension) {
		t.Helper()
		d.check(t)
		steps, complete := d.measure(t)
		last, before := steps[len(steps)-1], steps[max(0, len(steps)-3)] // n and n/4
		t.Logf("%s", slopes(before, last))
		if !complete {
			t.Errorf("a review of %d bytes (size %d of %d) allocates %d MB in %v: larger ones are not tried",
				last.body, last.n, d.to, last.bytes>>20, last.time.Round(time.Millisecond))
		}
		if exponent := slope(before, last, step.bytesOf); exponent > mostExponent {
			t.Errorf("bytes allocated grow as the power %.2f of the size, want at most %.2f", exponent, mostExponent)
		}
		if exponent := slope(before, last, step.countOf); exponent > mostExponent {
			t.Errorf("allocations grow as the power %.2f of the size, want at most %.2f", exponent, mostExponent)
		}
		exponent := slope(before, last, step.timeOf)
		for range 3 { // the machine may have been busy
			if exponent > mostExponent && complete {
				before, last = d.stepAt(t, before.n), d.stepAt(t, last.n)
				exponent = min(exponent, slope(before, last, step.timeOf))
			}
		}
		if exponent > mostExponent {
			t.Errorf("time grows as the power %.2f of the size, want at most %.2f", exponent, mostExponent)
		}
	})
}

// TestPeakMemoryOfAReview: what a review allocates in total bounds its peak; where that is too much, the live heap is
// sampled.
func TestPeakMemoryOfAReview(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector has costs of its own: make test runs this test without it")
	}
	eachDimension(t, func(t *testing.T, d dimension) {
		t.Helper()
		if d.outside {
			t.Skip("what grows is in the configuration, not in the review")
		}
		var first, last step
		for n := d.from; n <= d.to; n *= 2 {
			body, handle := d.body(n), d.handler(t, n)
			most := uint64(max(timesBody*len(body), smallHeap))
			last = costOf(body, handle, 1)
			last.x = float64(len(body))
			if n == d.from {
				first = last
			}
			if last.bytes <= most {
				continue
			}
			if runsAway(first, last, 4) { // unless the machine was busy
				last = costOf(body, handle, 3)
				last.x = float64(len(body))
			}
			if runsAway(first, last, 4) { // to collect all the time takes many times as long
				t.Fatalf("a review of %d bytes (size %d of %d) allocates %d MB in %v: neither its peak nor larger ones are tried",
					last.body, n, d.to, last.bytes>>20, last.time.Round(time.Millisecond))
			}
			peak := peakOf(body, handle, most+collected)
			say := fmt.Sprintf("a review of %d bytes (size %d of %d) takes %d KB at its peak, %.1f times its body; want at most %d KB",
				last.body, n, d.to, peak>>10, float64(peak)/float64(last.body), (most+collected)>>10)
			if peak > most+collected {
				t.Fatal(say)
			}
			t.Log(say)
		}
		t.Logf("%d bytes allocated in all for a body of %d: %.1f times", last.bytes, last.body, float64(last.bytes)/float64(last.body))
	})
}

// check makes sure that the smallest review is what it is meant to be, and the answer to it one that allows the write.
func (d dimension) check(t *testing.T) {
	t.Helper()
	recorder := httptest.NewRecorder()
	body := d.body(d.from)
	d.handler(t, d.from).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", strings.NewReader(body)))
	response := allowed(t, recorder.Code, recorder.Body.Bytes())
	acts := response.Patch != nil || d.keeps && len(response.Warnings) > 0
	if failedOpen(response) || d.keeps != acts {
		t.Fatalf("want a patch or a warning: %t, got %.200s, warnings %q", d.keeps, response.Patch, response.Warnings)
	}
}

// handler returns a handler without log and Events, so that only the review is measured.
func (d dimension) handler(tb testing.TB, n int) http.Handler {
	tb.Helper()
	s := newServer(tb, &fakeCluster{modes: map[string]string{}})
	s.Log, s.Events = logr.Discard(), unrecorded{}
	if d.rules != nil {
		s.Rules = ownership.NewRules(d.rules(tb, n)...)
	}
	return s
}

type unrecorded struct{}

func (unrecorded) Eventf(_, _ k8sruntime.Object, _, _, _, _ string, _ ...any) {}

// step is what a review of one size costs.
type step struct {
	n, body      int
	x            float64 // what the cost is compared with
	bytes, count uint64
	time         time.Duration
}

func (s step) bytesOf() float64 { return float64(s.bytes) }
func (s step) countOf() float64 { return float64(s.count) }
func (s step) timeOf() float64  { return float64(s.time) }

// measure returns the costs at sizes that double, and whether all were measured.
func (d dimension) measure(tb testing.TB) (steps []step, complete bool) {
	tb.Helper()
	for n := d.from; n <= d.to; n *= 2 {
		s := d.stepAt(tb, n)
		steps = append(steps, s)
		if n < d.to && runsAway(steps[0], s, 1) {
			return steps, false
		}
	}
	return steps, true
}

// stepAt returns the cost at one size.
func (d dimension) stepAt(tb testing.TB, n int) step {
	tb.Helper()
	s := costOf(d.body(n), d.handler(tb, n), 5)
	s.n, s.x = n, float64(s.body)
	if d.outside {
		s.x = float64(n)
	}
	return s
}

// costOf returns the least that a review costs in several runs.
func costOf(body string, handler http.Handler, runs int) step {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30)) // collects nevertheless before the machine suffers
	least := step{body: len(body), bytes: math.MaxUint64, count: math.MaxUint64, time: math.MaxInt64}
	var before, after runtime.MemStats
	for run := range 4 * runs {
		if run >= runs && least.time > 2*time.Millisecond {
			break // long enough to be measured
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := workTime()
		post(handler, body)
		took := workTime() - start
		runtime.ReadMemStats(&after)
		least.bytes = min(least.bytes, after.TotalAlloc-before.TotalAlloc)
		least.count = min(least.count, after.Mallocs-before.Mallocs)
		least.time = min(least.time, took)
		if took > tooLong {
			break
		}
	}
	return least
}

func post(handler http.Handler, body string) {
	request, err := http.NewRequest(http.MethodPost, "/mutate", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	handler.ServeHTTP(&discarded{header: http.Header{}}, request)
}

// discarded is a ResponseWriter that keeps nothing of the answer.
type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (d *discarded) WriteHeader(int)             {}

// slope is the power of the size as which a cost grows between two steps.
func slope(a, b step, cost func(step) float64) float64 {
	if a.x == b.x || cost(a) <= 0 {
		return 0
	}
	return math.Log(cost(b)/cost(a)) / math.Log(b.x/a.x)
}

// peakOf returns by how much the live heap grows at most while a review is handled: the least of several runs,
// where it is more than expected. It collects all the time, and so sees little but what is live.
func peakOf(body string, handler http.Handler, expected uint64) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(2))
	least := uint64(math.MaxUint64)
	for range 3 {
		runtime.GC()
		before, done, peak := liveHeap(), make(chan struct{}), make(chan uint64)
		go func() {
			highest := before
			for {
				select {
				case <-done:
					peak <- highest
					return
				default:
					runtime.GC()
					highest = max(highest, liveHeap())
				}
			}
		}()
		post(handler, body)
		close(done)
		if least = min(least, <-peak-before); least <= expected {
			break
		}
	}
	return least
}

// liveHeap returns how many bytes the last collection has left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func slopes(before, last step) string {
	return fmt.Sprintf("size %d, body %d bytes: time as the power %.2f, bytes %.2f, allocations %.2f; %.1f times the body allocated",
		last.n, last.body, slope(before, last, step.timeOf), slope(before, last, step.bytesOf), slope(before, last, step.countOf),
		float64(last.bytes)/float64(last.body))
}

// A review whose sender has gone is not worked on to its end.
func TestACanceledReviewCostsLess(t *testing.T) {
	d := dimensions()["dropped keys"]
	handler, body := d.handler(t, d.from), d.body(d.from)
	cost := func(ctx context.Context) uint64 {
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mutate", strings.NewReader(body))
		recorder := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		handler.ServeHTTP(recorder, request)
		runtime.ReadMemStats(&after)
		allowed(t, recorder.Code, recorder.Body.Bytes())
		return after.TotalAlloc - before.TotalAlloc
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	cost(gone)
	if waited, left := cost(t.Context()), cost(gone); 2*left > waited {
		t.Errorf("%d bytes are allocated for a sender that has gone, %d for one that waits: want at most half", left, waited)
	}
}
