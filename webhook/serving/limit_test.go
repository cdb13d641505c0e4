package serving_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ownership-handoff/handoff/webhook/serving"
)

func newRegistry() *prometheus.Registry { return prometheus.NewRegistry() }

// inFlight returns the value of the gauge.
func (s *server) inFlight() float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "handoff_reviews_in_flight" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	s.Fatal("no gauge handoff_reviews_in_flight")
	return 0
}

func TestReviewsBeyondTheLimitAreShed(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct{ limit, sent, shed int }{
		"a limit of one":          {limit: 1, sent: 1, shed: 3},
		"a limit of three":        {limit: 3, sent: 3, shed: 20},
		"no limit, many requests": {limit: 0, sent: 50, shed: 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := reviews{entered: make(chan struct{}, c.sent), gate: make(chan struct{})}
			s := serve(t, r, serving.Options{MaxInFlight: c.limit})
			s.ready()
			answers := make(chan string, c.sent)
			for range c.sent {
				go func() {
					answer, err := s.post()
					if err != nil {
						answer = err.Error()
					}
					answers <- answer
				}()
				<-r.entered
			}
			for range c.shed { // while all slots are taken
				if answer, err := s.post(); answer != "shed" || err != nil {
					t.Errorf("beyond the limit: got %q, %v", answer, err)
				}
			}
			if got := s.inFlight(); got != float64(c.sent) {
				t.Errorf("in flight: want %d, got %v", c.sent, got)
			}
			close(r.gate)
			for range c.sent {
				if answer := <-answers; answer != "reviewed" {
					t.Errorf("within the limit: got %q", answer)
				}
			}
			eventually(t, "none is in flight", func() bool { return s.inFlight() == 0 })
			go func() { <-r.entered }()
			if answer, err := s.post(); answer != "reviewed" || err != nil {
				t.Errorf("with a free slot: got %q, %v", answer, err)
			}
		})
	}
}
