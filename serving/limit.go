package serving

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// mostBytes is how large the reviews in flight may be together, as they come. A review takes some three times its size while
// it is worked on, and a container has a limit of memory.
const mostBytes = 64 << 20

// unsaid is what a review counts for that does not say its size: the largest that there can be. The API server says it.
const unsaid = 7 << 20

// limit lets at most so many reviews in at a time, and has the others shed: what comes faster than it can be answered
// would otherwise all be answered too late. 0 is no limit of their number; there is always one of their size, for all but a
// review that is alone.
func limit(most int, reviews Reviews, r prometheus.Registerer) (http.Handler, error) {
	var inFlight, inBytes atomic.Int64
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_reviews_in_flight",
		Help: "Reviews that are worked on now; those beyond --max-in-flight are shed and not among them.",
	}, func() float64 { return float64(inFlight.Load()) })
	if err := r.Register(gauge); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		size := req.ContentLength
		if size < 0 {
			size = unsaid
		}
		n, bytes := inFlight.Add(1), inBytes.Add(size)
		leave := func() { inFlight.Add(-1); inBytes.Add(-size) }
		if most > 0 && n > int64(most) || n > 1 && bytes > mostBytes {
			leave()
			reviews.Shed(w, req)
			return
		}
		defer leave()
		reviews.ServeHTTP(w, req)
	}), nil
}
