package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errClosed = errors.New("the connection is closed")

// closed is a ResponseWriter of a closed connection, which still reads what was written.
type closed struct {
	http.ResponseWriter

	written []byte
}

func (c *closed) Write(text []byte) (int, error) {
	c.written = text
	return 0, errClosed
}

// The race detector makes sync.Pool drop some of what it gets, so that this test finds an error only in some of its rounds.
func TestTheMemoryOfAFailedWriteIsNotReused(t *testing.T) {
	s := newServer(t, enforced())
	first, second := update(csa, scaledBy7(), applied3()), update(csa, scaledBy7(), applied3())
	first.uid, second.uid = "uid-1", "uid-2"
	for range 10 {
		w := &closed{ResponseWriter: httptest.NewRecorder()}
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mutate", strings.NewReader(first.body())))
		want := string(w.written)
		responseOf(s, second.body())
		if diff := cmp.Diff(want, string(w.written)); diff != "" {
			t.Fatalf("the first response after the second review (-want +got):\n%s", diff)
		}
	}
}

// The strings of a review are copied all at once. What an Event retains must not retain the long ones among them.
func TestEventsDoNotRetainOtherTextOfTheReview(t *testing.T) {
	const length, reviews = 1 << 20, 16
	s := newServer(t, enforced())
	live := func() float64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools retain
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc)
	}
	before := live()
	for range reviews {
		sent := update(csa, scaledBy7(), applied3())
		sent.uid = strings.Repeat("x", length)
		responseOf(s, sent.body())
		s.mutex.Lock()
		s.log.Reset() // it has the uid
		s.mutex.Unlock()
	}
	grown := live() - before
	if len(s.events) != reviews {
		t.Fatalf("want %d events, got %d", reviews, len(s.events))
	}
	if grown > reviews*length/2 {
		t.Errorf("%d Events retain %.0f bytes, want fewer than half of the %d in the reviews", reviews, grown, reviews*length)
	}
	runtime.KeepAlive(s)
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
