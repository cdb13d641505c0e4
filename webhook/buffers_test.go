package webhook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
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
