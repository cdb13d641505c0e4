package webhook

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The budget of a review in steps, of which each is about one byte read. While fields are kept, both objects and the last-applied
// configurations in them are read about ten times; more steps mean that the work is not linear in their size.
const (
	minSteps     = 1 << 20
	stepsPerByte = 64
	// pollSteps is the number of steps between two checks of the request's context.
	pollSteps = 1 << 16
)

// meter limits the work on a review.
type meter struct {
	left, poll int
	done       <-chan struct{} // the API server has closed the connection
	deadline   time.Time       // at which the API server stops waiting; zero if that is unknown
}

// newMeter returns the meter of a review with a body of size bytes. It stops the work when the budget is exhausted, and when the
// API server stops waiting. The API server sends its timeout in the query
// (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go), and closes the connection.
func newMeter(req *http.Request, start time.Time, size int) *meter {
	m := &meter{left: minSteps + stepsPerByte*size, done: req.Context().Done()}
	if timeout := timeoutOf(req.URL); timeout > 0 {
		m.deadline = start.Add(timeout)
	}
	return m
}

// spend is the ownership.Meter.
func (m *meter) spend(steps int) bool {
	m.left -= steps
	if m.poll -= steps; m.poll < 0 {
		m.poll = pollSteps
		if m.expired() {
			m.left = -1
		}
	}
	return m.left >= 0
}

func (m *meter) expired() bool {
	select {
	case <-m.done:
		return true
	default:
		return !m.deadline.IsZero() && time.Now().After(m.deadline)
	}
}

// timeoutOf returns the timeout in a query, 0 if there is none.
func timeoutOf(u *url.URL) time.Duration {
	if u.RawQuery == "" {
		return 0
	}
	text, plain := strings.CutPrefix(u.RawQuery, "timeout=")
	if !plain || strings.ContainsAny(text, "&;%+") {
		text = u.Query().Get("timeout")
	}
	timeout, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return timeout
}
