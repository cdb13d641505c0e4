package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/test/bench/handlers"
)

// counted are recorded reviews with the most that the handler allocates for each, in allocations and in bytes for each byte of
// the body. Both are the same on every machine, except for what the log, the Events and the informers' caches allocate.
type counted struct {
	review, mode string
	allocations  float64
	bytes        float64
}

func allCounted() map[string]counted {
	return map[string]counted{
		"30 KB, a namespace that has not opted in":         {"large-nothing-to-do", "", 12, 1.5},
		"30 KB, nothing to do":                             {"large-nothing-to-do", "enforce", 30, 2},
		"3 KB, a namespace that has not opted in":          {"apply-of-a-custom-resource-while-hpa-scaled", "", 12, 3.5},
		"8 KB, nothing to do":                              {"kubectl-rollout-restart-while-hpa-scaled", "enforce", 30, 2.1},
		"8 KB, a field kept, and nothing else changed":     {"apply-unchanged-while-hpa-scaled", "enforce", 205, 5},
		"30 KB, a field kept, and others changed":          {"large-kept", "enforce", 205, 3.1},
		"30 KB, a field kept, and nothing else changed":    {"large-kept-and-nothing-else", "enforce", 225, 2.9},
		"6 KB, a field kept in a forced server-side apply": {"server-side-apply-forced-sets-replicas", "enforce", 205, 5.3},
	}
}

// TestAReviewAllocatesLittle bounds what a review allocates, without a clock.
func TestAReviewAllocatesLittle(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector has costs of its own: make test runs this test without it")
	}
	for sentence, c := range allCounted() {
		t.Run(sentence, func(t *testing.T) {
			exchange, handler, size := exchangeOf(t, c.review, c.mode)
			once := func() {
				if _, err := exchange.Answer(handler); err != nil {
					t.Error(err)
				}
			}
			once() // what is allocated only once
			send := exchange.Send(handler)
			allocations := testing.AllocsPerRun(100, send)
			bytes := bytesPerRun(100, send) / float64(size)
			t.Logf("%.0f allocations, %.2f bytes for each of %d", allocations, bytes, size)
			if allocations > c.allocations {
				t.Errorf("%.0f allocations, want at most %.0f", allocations, c.allocations)
			}
			if bytes > c.bytes {
				t.Errorf("%.2f bytes allocated for each byte of the body, want at most %.2f", bytes, c.bytes)
			}
		})
	}
}

func exchangeOf(tb testing.TB, review, mode string) (*handlers.Exchange, http.Handler, int) {
	tb.Helper()
	body, err := handlers.Review(review)
	if err != nil {
		tb.Fatal(err)
	}
	exchange, err := handlers.NewExchange(body)
	if err != nil {
		tb.Fatal(err)
	}
	handler, err := handlers.Handoff(tb.Context(), handlers.Options{Mode: mode, Namespace: review})
	if err != nil {
		tb.Fatal(err)
	}
	return exchange, handler, len(body)
}

// bytesPerRun is testing.AllocsPerRun for bytes.
func bytesPerRun(runs int, f func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	f()
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(runs)
}

// TestReviewsDoNotShareMemory sends reviews at the same time that reuse the memory of each other, and compares each response with
// that of a handler that has seen nothing else.
func TestReviewsDoNotShareMemory(t *testing.T) {
	shared := newServer(t, enforced())
	bodies, want := map[string]string{}, map[string]string{}
	for n := range 8 {
		live, incoming := scaledBy7(), applied3()
		live.replicas = strconv.Itoa(10 + n)
		sent := update(csa, live, incoming)
		sent.uid, sent.name = fmt.Sprintf("uid-%d", n), fmt.Sprintf("web-%d", n)
		if n%4 == 3 {
			sent.object = "[]" // fails open
		}
		bodies[sent.uid] = sent.body()
		want[sent.uid] = responseOf(newServer(t, enforced()), bodies[sent.uid])
	}
	var all sync.WaitGroup
	for uid, body := range bodies {
		for range 4 {
			all.Go(func() {
				for range 25 {
					if diff := cmp.Diff(want[uid], responseOf(shared, body)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", uid, diff)
						return
					}
				}
			})
		}
	}
	all.Wait()
}

func responseOf(handler http.Handler, body string) string {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/mutate", strings.NewReader(body)))
	return recorder.Body.String()
}
