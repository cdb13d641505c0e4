package serving

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// gated blocks reviews until the gate opens.
type gated struct{ entered, gate chan struct{} }

func (g gated) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.entered <- struct{}{}
	<-g.gate
	w.WriteHeader(http.StatusOK)
}

func (gated) Shed(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }

// TestReviewsAboveTheMemoryLimitAreShed verifies that received bytes count, and the Content-Length does not.
func TestReviewsAboveTheMemoryLimitAreShed(t *testing.T) {
	const half = maxBytes / 2
	for sentence, c := range map[string]struct {
		before, size  int
		contentLength int64 // of both; 0: their size
		want          int
	}{
		"a single review":                          {0, maxBytes, 0, http.StatusOK},
		"two reviews that fit":                     {half, half, 0, http.StatusOK},
		"two reviews that do not fit":              {half, half + 1, 0, http.StatusTeapot},
		"a small review next to a huge one":        {maxBytes, 1, 0, http.StatusTeapot},
		"two that fit, without a Content-Length":   {half, half, -1, http.StatusOK},
		"two that fit, with a huge Content-Length": {half, half, 1 << 62, http.StatusOK},
		"two that do not fit, with a small one":    {half, half + 1, 1, http.StatusTeapot},
	} {
		t.Run(sentence, func(t *testing.T) {
			reviews := gated{make(chan struct{}, 2), make(chan struct{})}
			limiter, err := newLimiter(0, 2*maxBytes, reviews, prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			send := func(size int) chan int {
				body := bytes.NewReader(make([]byte, size))
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", io.NopCloser(body))
				if request.ContentLength = c.contentLength; c.contentLength == 0 {
					request.ContentLength = int64(size)
				}
				answered := make(chan int, 1)
				go func() {
					w := httptest.NewRecorder()
					limiter.ServeHTTP(w, request)
					answered <- w.Code
				}()
				return answered
			}
			if c.before > 0 {
				send(c.before)
				<-reviews.entered
			}
			answered := send(c.size)
			select {
			case <-reviews.entered: // it is being processed, and can be answered
				close(reviews.gate)
			case got := <-answered:
				answered <- got
				defer close(reviews.gate)
			}
			if got := <-answered; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestTheBufferGrowsWithReceivedBytes verifies that memory follows the bytes received, not the Content-Length.
func TestTheBufferGrowsWithReceivedBytes(t *testing.T) {
	for sentence, contentLength := range map[string]int64{
		"no Content-Length": -1, "more than the size": 1 << 62, "the size": 100_000, "less than the size": 10,
	} {
		t.Run(sentence, func(t *testing.T) {
			text := make([]byte, 0, firstBuffer)
			for received := range 100_000 {
				if len(text) == cap(text) {
					text = grow(text, contentLength, defaultMaxBody)
				}
				if text = append(text, 0); cap(text) > max(firstBuffer, 2*len(text)+1) {
					t.Fatalf("%d bytes received, but the buffer has %d", received, cap(text))
				}
			}
		})
	}
}
