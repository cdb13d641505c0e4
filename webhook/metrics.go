package webhook

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/merge"
)

// Metrics counts what the handler does.
type Metrics struct {
	reviews, decisions, failures, skipped *prometheus.CounterVec
	duration                              prometheus.Histogram
}

// NewMetrics returns metrics that are registered with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	registered := promauto.With(r)
	m := &Metrics{
		reviews: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "handoff_reviews_total",
			Help: "Answered reviews, by result: unchanged, patched, warned or failed_open.",
		}, []string{"result"}),
		decisions: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "handoff_decisions_total",
			Help: "Decisions on fields, by decision (a row of the decision table), mode, owner and verdict: keep, manifest-wins, " +
				"removed, clear, start or warn.",
		}, []string{"decision", "mode", "owner", "verdict"}),
		failures: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "handoff_failed_open_total",
			Help: "Writes that were not modified because of an error, by reason.",
		}, []string{"reason"}),
		skipped: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "handoff_skipped_fields_total",
			Help: "Writes of which only the scale field was decided because of an error, by reason.",
		}, []string{"reason"}),
		duration: registered.NewHistogram(prometheus.HistogramOpts{
			Name:    "handoff_review_duration_seconds",
			Help:    "Seconds from the last byte of a review to the last byte of its response.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 10),
		}),
	}
	for _, known := range reasons { // served from the start, so that the first event is an increase
		m.failures.WithLabelValues(known.reason.label)
		m.skipped.WithLabelValues(known.reason.label)
	}
	return m
}

func (m *Metrics) reviewed(out outcome) {
	result := "unchanged"
	switch {
	case len(out.decided.Operations) > 0:
		result = "patched"
	case len(out.decided.Changes)+len(out.notes) > 0:
		result = "warned"
	}
	m.reviews.WithLabelValues(result).Inc()
}

func (m *Metrics) decided(c *merge.Change, mode optin.Mode) {
	m.decisions.WithLabelValues(c.Decision.Name, string(mode), c.Field.Owner.Kind.String(), string(c.Decision.Verdict)).Inc()
}

func (m *Metrics) failedOpen(err error) {
	m.reviews.WithLabelValues("failed_open").Inc()
	m.failures.WithLabelValues(reasonOf(err).label).Inc()
}
