package webhook_test

import (
	"context"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/ownership"
)

// mostExponent is the power of a review's size as which a cost may grow between n and 4n. Linear is 1 and quadratic 2. What is
// fixed in small reviews makes it less; a slice that was just doubled at 4n, and was nearly full at n, makes it more.
const mostExponent = 1.4

// tooLong is the time that a quarter of the largest review may take: otherwise the largest is not tried, because it would not end.
const tooLong = 700 * time.Millisecond

// The live heap may grow by timesBody times the length of the body, and by what is allocated while a collection runs, which
// counts as live: collected bounds that. A review that allocates less than smallHeap in all is not looked at: the runtime's
// first collection comes no sooner than that (GOGC in https://pkg.go.dev/runtime).
const (
	timesBody = 20
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
		quarter := d.costAt(t, d.to/4, 5)
		if quarter.time > tooLong {
			t.Fatalf("size %d takes %v: larger ones are not tried", d.to/4, quarter.time)
		}
		whole := d.costAt(t, d.to, 5)
		exponents := map[string]float64{
			"bytes allocated": exponent(quarter, whole, func(c cost) float64 { return float64(c.bytes) }),
			"allocations":     exponent(quarter, whole, func(c cost) float64 { return float64(c.count) }),
			"time":            exponent(quarter, whole, func(c cost) float64 { return float64(c.time) }),
		}
		for tries := 0; tries < 3 && exponents["time"] > mostExponent; tries++ { // the machine may have been busy
			exponents["time"] = exponent(d.costAt(t, d.to/4, 5), d.costAt(t, d.to, 5), func(c cost) float64 { return float64(c.time) })
		}
		for what, grows := range exponents {
			t.Logf("%s: as the power %.2f of the size", what, grows)
			if grows > mostExponent {
				t.Errorf("%s: as the power %.2f of the size, want at most %.2f", what, grows, mostExponent)
			}
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
		if quarter := d.costAt(t, d.to/4, 1); quarter.time > tooLong { // to collect all the time takes many times as long
			t.Fatalf("size %d takes %v: the peak of larger ones is not tried", d.to/4, quarter.time)
		}
		body, whole := d.body(d.to), d.costAt(t, d.to, 1)
		most := uint64(max(timesBody*len(body), smallHeap))
		t.Logf("%d bytes allocated in all for a body of %d: %.1f times", whole.bytes, len(body), float64(whole.bytes)/float64(len(body)))
		if whole.bytes <= most {
			return
		}
		peak := peakOf(body, d.server(t, d.to), most+collected)
		t.Logf("%d KB at its peak, %.1f times its body", peak>>10, float64(peak)/float64(len(body)))
		if peak > most+collected {
			t.Errorf("a review of %d bytes takes %d KB at its peak, want at most %d KB", len(body), peak>>10, (most+collected)>>10)
		}
	})
}

// check makes sure that the smallest review is what it is meant to be, and the answer to it one that allows the write.
func (d dimension) check(t *testing.T) {
	t.Helper()
	response := d.server(t, d.from).answer(t, d.body(d.from))
	acts := response.Patch != nil || d.keeps && len(response.Warnings) > 0
	if failedOpen(response) || d.keeps != acts {
		t.Fatalf("want a patch or a warning: %t, got %.200s, warnings %q", d.keeps, response.Patch, response.Warnings)
	}
}

// server returns a handler without log and Events, so that only the review is measured.
func (d dimension) server(tb testing.TB, n int) *server {
	tb.Helper()
	s := newServer(tb, &fakeCluster{modes: map[string]string{}})
	s.Log, s.Events = logr.Discard(), &events.FakeRecorder{}
	if d.rules != nil {
		s.Rules = ownership.NewRules(d.rules(n)...)
	}
	return s
}

// cost is what a review of one size costs.
type cost struct {
	size         float64 // what the cost is compared with
	bytes, count uint64
	time         time.Duration
}

// exponent returns the power of the size as which a cost grows.
func exponent(a, b cost, of func(cost) float64) float64 {
	if of(a) <= 0 {
		return 0
	}
	return math.Log(of(b)/of(a)) / math.Log(b.size/a.size)
}

// costAt returns the least that a review of a size costs in several runs.
func (d dimension) costAt(tb testing.TB, n, runs int) cost {
	tb.Helper()
	body, handler := d.body(n), d.server(tb, n)
	least := cost{size: float64(len(body)), bytes: math.MaxUint64, count: math.MaxUint64, time: math.MaxInt64}
	if d.outside {
		least.size = float64(n)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30)) // collects nevertheless before the machine suffers
	var before, after runtime.MemStats
	for run := range 4 * runs {
		if run >= runs && least.time > 2*time.Millisecond || least.time != math.MaxInt64 && least.time > tooLong {
			break // long enough to be measured
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := growth.Used(tb)
		post(handler, body)
		took := growth.Used(tb) - start
		runtime.ReadMemStats(&after)
		least.bytes = min(least.bytes, after.TotalAlloc-before.TotalAlloc)
		least.count = min(least.count, after.Mallocs-before.Mallocs)
		least.time = min(least.time, took)
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

// peakOf returns by how much the live heap grows at most while a review is handled: the least of several runs,
// where it is more than expected. It collects all the time, and so sees little but what is live.
func peakOf(body string, handler http.Handler, expected uint64) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(2))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16)) // a quarter of them collect, so that little is allocated meanwhile
	least := uint64(math.MaxUint64)
	for tries := 0; tries < 10 && least > expected; tries++ {
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
		least = min(least, <-peak-before)
	}
	return least
}

// liveHeap returns how many bytes the last collection has left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A review whose sender has gone is not worked on to its end.
func TestACanceledReviewCostsLess(t *testing.T) {
	d := dimensions()["dropped keys"]
	handler, body := d.server(t, d.from), d.body(d.from)
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

func TestALargeReviewEndsWhenMemoryIsShort(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 20))
	for n, want := range map[int]bool{100: false, 4000: true} {
		warnings := newServer(t, enforced()).answer(t, dimensions()["keys that a server-side apply sets and a controller owns"].body(n)).Warnings
		expect.Equal(t, strconv.Itoa(n)+" keys: the end", want, slices.Contains(warnings, "handoff: skipped, review too complex: only replicas were checked"))
	}
}
