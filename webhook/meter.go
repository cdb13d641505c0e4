package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/ownership-handoff/handoff/ownership"
)

// The work that a review may cause, in steps of about a byte read. Each of the two objects and of the two manifests in them
// is read some ten times while fields are kept, whatever they hold; more means that something is not linear in them.
const (
	leastSteps   = 1 << 20
	stepsPerByte = 64
	// pollSteps is after how many steps the request's context is looked at again.
	pollSteps = 1 << 16
)

// newMeter returns the meter of a review with a body of so many bytes: it ends the work when that has taken too many steps,
// and when nobody waits for the answer any more.
func newMeter(ctx context.Context, size int) ownership.Meter {
	left, poll := leastSteps+stepsPerByte*size, 0
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

// waitedFor returns a context that ends when the API server stops waiting: it says how long it waits in the query
// (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go), and closes the connection.
func waitedFor(req *http.Request) (context.Context, context.CancelFunc) {
	timeout, err := time.ParseDuration(req.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 {
		return context.WithCancel(req.Context())
	}
	return context.WithTimeout(req.Context(), timeout)
}
