package serving

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// gated blocks reviews until the gate opens.
type gated struct{ entered, gate chan struct{} }

func (g gated) Answer(w http.ResponseWriter, _ *http.Request, _ []byte, _ error) {
	g.entered <- struct{}{}
	<-g.gate
	w.WriteHeader(http.StatusOK)
}

func (gated) Shed(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusTeapot) }

// TestReviewsAboveTheMemoryLimitAreShed verifies that received bytes count, and the Content-Length does not.
func TestReviewsAboveTheMemoryLimitAreShed(t *testing.T) {
	const half = maxLargeBytes / 2
	for sentence, c := range map[string]struct {
		before, size  int
		contentLength int64 // of both; 0: their size
		want          int
	}{
		"a single review":                          {0, maxLargeBytes, 0, http.StatusOK},
		"two reviews that fit":                     {half, half, 0, http.StatusOK},
		"two reviews that do not fit":              {half, half + 1, 0, http.StatusTeapot},
		"a small review next to large ones":        {maxLargeBytes, largeReview, 0, http.StatusOK},
		"one that is not small next to large ones": {maxLargeBytes, largeReview + 1, 0, http.StatusTeapot},
		"two that fit, without a Content-Length":   {half, half, -1, http.StatusOK},
		"two that fit, with a huge Content-Length": {half, half, 1 << 62, http.StatusOK},
		"two that do not fit, with a small one":    {half, half + 1, 1, http.StatusTeapot},
	} {
		t.Run(sentence, func(t *testing.T) {
			reviews := gated{make(chan struct{}, 2), make(chan struct{})}
			limiter := newLimiter(0, 2*maxBytes, reviews, prometheus.NewRegistry())
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
			expect.Equal(t, "status", c.want, <-answered)
		})
	}
}

// recording records the last review.
type recording struct {
	body string
	err  error
}

func (r *recording) Answer(_ http.ResponseWriter, _ *http.Request, body []byte, err error) {
	r.body, r.err = string(body), err
}

func (r *recording) Shed(http.ResponseWriter, []byte) {}

// Over the network, a body comes in pieces, and its length can be unknown.
func TestABodyIsReadUpToTheLimit(t *testing.T) {
	const limit = 100_000
	fits, tooLarge := strings.Repeat("a", limit), strings.Repeat("a", 3*limit)
	reset := errors.New("connection reset")
	for sentence, c := range map[string]struct {
		body io.Reader
		want recording
	}{
		"one piece":        {strings.NewReader(fits), recording{fits, nil}},
		"small pieces":     {iotest.HalfReader(strings.NewReader(fits)), recording{fits, nil}},
		"data with an end": {iotest.DataErrReader(strings.NewReader(fits)), recording{fits, nil}},
		"too large":        {strings.NewReader(tooLarge), recording{tooLarge[:limit+1], nil}},
		"no bytes":         {strings.NewReader(""), recording{"", nil}},
		"an early end":     {io.MultiReader(strings.NewReader("{"), iotest.ErrReader(reset)), recording{"{", reset}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := &recording{}
			limiter := newLimiter(0, limit, got, prometheus.NewRegistry())
			body := struct{ io.Reader }{c.body}
			limiter.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", body))
			if got.body != c.want.body || !errors.Is(got.err, c.want.err) {
				t.Errorf("want %d bytes and error %v, got %d and %v", len(c.want.body), c.want.err, len(got.body), got.err)
			}
			if left, _ := io.Copy(io.Discard, c.body); left > 0 {
				t.Errorf("%d bytes are left unread", left)
			}
		})
	}
}

func TestOnlyPostIsAllowed(t *testing.T) {
	limiter := newLimiter(0, maxBytes, gated{}, prometheus.NewRegistry())
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
		recorder := httptest.NewRecorder()
		limiter.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, "/mutate", http.NoBody))
		if recorder.Code != http.StatusMethodNotAllowed || !strings.Contains(recorder.Body.String(), "POST an AdmissionReview") {
			t.Errorf("%s: want 405 and what to do, got %d: %s", method, recorder.Code, recorder.Body)
		}
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
					text = grow(text, contentLength, 7<<20)
				}
				if text = append(text, 0); cap(text) > max(firstBuffer, 2*len(text)+1) {
					t.Fatalf("%d bytes received, but the buffer has %d", received, cap(text))
				}
			}
		})
	}
}

// TestALargeReviewEvictsNoSmallOne has a small and a large review that wait for their clients while another one needs memory.
func TestALargeReviewEvictsNoSmallOne(t *testing.T) {
	for sentence, c := range map[string]struct {
		size         int
		small, large bool // whether they are evicted
	}{
		"for a large review": {maxLargeBytes, false, true},
		"for a small review": {largeReview, true, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			limiter := newLimiter(0, maxBytes, gated{}, prometheus.NewRegistry())
			waits := func(size int) *pendingReview {
				p := limiter.enter(nil, func(time.Time) error { return nil })
				p.received(size)
				return p
			}
			small, large := waits(largeReview), waits(largeReview+1)
			limiter.bytes += maxBytes - int64(c.size)
			next := limiter.enter(nil, nil)
			next.received(c.size)
			if small.refused != c.small || large.refused != c.large {
				t.Errorf("want them evicted: %t, %t; got %t, %t", c.small, c.large, small.refused, large.refused)
			}
		})
	}
}
