package serving

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// limit lets at most so many reviews in at a time, and has the others shed: what comes faster than it can be answered
// would otherwise all be answered too late. 0 is no limit.
func limit(most int, reviews Reviews, r prometheus.Registerer) (http.Handler, error) {
	var inFlight atomic.Int64
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_reviews_in_flight",
		Help: "Reviews that are worked on now; those beyond --max-in-flight are shed and not among them.",
	}, func() float64 { return float64(inFlight.Load()) })
	if err := r.Register(gauge); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if n := inFlight.Add(1); most > 0 && n > int64(most) {
			inFlight.Add(-1)
			reviews.Shed(w, req)
			return
		}
		defer inFlight.Add(-1)
		reviews.ServeHTTP(w, req)
	}), nil
}
