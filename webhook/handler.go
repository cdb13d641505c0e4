package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// MaxBody is the maximum size of a review in bytes: two objects of 3 MiB, which is the limit of the API server, and the rest
// of the review.
const MaxBody = 7 << 20

var (
	errTooLarge = fmt.Errorf("the body is larger than %d bytes", MaxBody)
	errPanic    = errors.New("panic")
)

// Handler answers AdmissionReviews (admission.k8s.io/v1) over HTTP. Every response allows the write. All exported fields except
// Rules, Events and Version are required.
type Handler struct {
	Cluster  Cluster
	Managers ownership.Managers
	Rules    []ownership.Rule
	Metrics  *Metrics
	Log      logr.Logger
	// Events records an Event on the object for each decision; if nil, no Events are recorded.
	Events EventRecorder
	// Version is the response to kubectl handoff doctor.
	Version string

	buffers  sync.Pool // of *buffers
	shedding ratelimit.Log

	eventLimit eventLimit
}

// ServeHTTP answers one review. The status of every POST request is 200: the API server treats any other status as an error, and
// with failurePolicy Fail it would deny the write.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !posted(w, req) {
		return
	}
	start := time.Now()
	b := h.borrow()
	body, err := readBody(req)
	h.respond(w, b, h.review(b, newMeter(req, start, len(body)), body, err))
	h.give(b)
	h.Metrics.duration.Observe(time.Since(start).Seconds())
}

func posted(w http.ResponseWriter, req *http.Request) bool {
	if req.Method == http.MethodPost {
		return true
	}
	http.Error(w, "handoff: POST an AdmissionReview of admission.k8s.io/v1", http.StatusMethodNotAllowed)
	return false
}

func (h *Handler) respond(w http.ResponseWriter, b *buffers, r response) {
	b.answer = r.appendReview(b.answer[:0])
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(b.answer); err != nil {
		b.answer = nil // net/http may still read it for a connection that was closed (golang/go#20704)
		h.Log.V(1).Info("the API server did not wait for the response", "error", err.Error())
	}
}

// review answers one review. All errors and panics are handled here, with a response that allows the write unmodified.
func (h *Handler) review(b *buffers, limit *meter, body []byte, readErr error) (answer response) {
	r := review{meter: limit.spend}
	defer func() {
		if p := recover(); p != nil {
			h.Log.Error(errPanic, "failed open: recovered from a panic", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			answer = h.failOpen(&r, errPanic)
		}
	}()
	err := r.decode(&b.reader, body)
	if readErr != nil {
		err = readErr
	}
	if err != nil {
		return h.failOpen(&r, err)
	}
	out, err := h.evaluate(&r)
	if err != nil {
		return h.failOpen(&r, err)
	}
	if b.patch, err = merge.AppendPatch(b.patch[:0], out.operations); err != nil {
		return h.failOpen(&r, err)
	}
	answer = answerOf(&r, out, b.patch)
	h.report(&r, out)
	return answer
}

func (h *Handler) failOpen(r *review, err error) response {
	h.Metrics.failedOpen(reasonOf(err).label)
	h.Log.Error(err, "failed open: the write was not modified", r.identity()...)
	return failOpen(r, err)
}
