package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/ownership-handoff/handoff/ownership"
)

// The budget of a review in steps, of which each is about one byte read. While fields are kept, both objects and the last-applied
// configurations in them are read about ten times; more steps mean that the work is not linear in their size.
const (
	minSteps     = 1 << 20
	stepsPerByte = 64
	// pollSteps is the number of steps between two checks of the request's context.
	pollSteps = 1 << 16
)

// newMeter returns the meter of a review with a body of size bytes. It stops the work when the budget is exhausted, and when the
// context is done.
func newMeter(ctx context.Context, size int) ownership.Meter {
	left, poll := minSteps+stepsPerByte*size, 0
	return func(steps int) bool {
		left -= steps
		if poll -= steps; poll < 0 {
			poll = pollSteps
			if ctx.Err() != nil {
				left = -1
			}
		}
		return left >= 0
	}
}

// requestContext returns a context that is done when the API server stops waiting. The API server sends its timeout in the query
// (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go), and closes the connection.
func requestContext(req *http.Request) (context.Context, context.CancelFunc) {
	timeout, err := time.ParseDuration(req.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 {
		return context.WithCancel(req.Context())
	}
	return context.WithTimeout(req.Context(), timeout)
}
