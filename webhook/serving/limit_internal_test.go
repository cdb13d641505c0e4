package serving

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// gated lets reviews in and keeps them until the gate opens.
type gated struct{ entered, gate chan struct{} }

func (g gated) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.entered <- struct{}{}
	<-g.gate
	w.WriteHeader(http.StatusOK)
}

func (gated) Shed(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }

// TestReviewsThatAreTooLargeTogetherAreShed verifies that what has arrived counts, and nothing that is announced.
func TestReviewsThatAreTooLargeTogetherAreShed(t *testing.T) {
	const half = mostBytes / 2
	for sentence, c := range map[string]struct {
		before, size int
		announced    int64 // of both; 0: the truth
		want         int
	}{
		"one alone":                            {0, mostBytes, 0, http.StatusOK},
		"two that fit":                         {half, half, 0, http.StatusOK},
		"two that do not":                      {half, half + 1, 0, http.StatusTeapot},
		"a small one beside a huge one":        {mostBytes, 1, 0, http.StatusTeapot},
		"two that fit and announce nothing":    {half, half, -1, http.StatusOK},
		"two that announce more than there is": {half, half, 1 << 62, http.StatusOK},
		"two that announce less than they are": {half, half + 1, 1, http.StatusTeapot},
	} {
		t.Run(sentence, func(t *testing.T) {
			reviews := gated{make(chan struct{}, 2), make(chan struct{})}
			limiter, err := newLimiter(0, 2*mostBytes, reviews, prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			send := func(size int) chan int {
				body := bytes.NewReader(make([]byte, size))
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", io.NopCloser(body))
				if request.ContentLength = c.announced; c.announced == 0 {
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
			case <-reviews.entered: // it was let in, and can be answered
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

// TestTheBufferGrowsWithWhatArrives verifies that memory follows the bytes that have come, not those that are announced.
func TestTheBufferGrowsWithWhatArrives(t *testing.T) {
	for sentence, announced := range map[string]int64{
		"nothing is announced": -1, "more than there is": 1 << 62, "the truth": 100_000, "less than there is": 10,
	} {
		t.Run(sentence, func(t *testing.T) {
			text := make([]byte, 0, firstBuffer)
			for arrived := range 100_000 {
				if len(text) == cap(text) {
					text = grow(text, announced, defaultMaxBody)
				}
				if text = append(text, 0); cap(text) > max(firstBuffer, 2*len(text)+1) {
					t.Fatalf("%d bytes have arrived, and the buffer has %d", arrived, cap(text))
				}
			}
		})
	}
}
