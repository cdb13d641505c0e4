package serving_test

import (
	"github.com/prometheus/client_golang/prometheus"
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
