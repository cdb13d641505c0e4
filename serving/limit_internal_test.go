package serving

import (
	"net/http"
	"net/http/httptest"
	"strings"
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

func TestReviewsThatAreTooLargeTogetherAreShed(t *testing.T) {
	for sentence, c := range map[string]struct {
		before, size int64
		want         int
	}{
		"one that is larger than all may be, alone": {0, mostBytes + 1, http.StatusOK},
		"two that fit":                  {mostBytes / 2, mostBytes / 2, http.StatusOK},
		"two that do not":               {mostBytes / 2, mostBytes/2 + 1, http.StatusTeapot},
		"a small one beside a huge one": {mostBytes, 1, http.StatusTeapot},
		"one that does not say its size beside a huge one": {mostBytes, -1, http.StatusTeapot},
	} {
		t.Run(sentence, func(t *testing.T) {
			reviews := gated{make(chan struct{}, 2), make(chan struct{})}
			handler, err := limit(0, reviews, prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			send := func(size int64) chan int {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", strings.NewReader(""))
				request.ContentLength = size
				answered := make(chan int, 1)
				go func() {
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, request)
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
