package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

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

func responseOf(handler http.Handler, body string) string {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/mutate", strings.NewReader(body)))
	return recorder.Body.String()
}
