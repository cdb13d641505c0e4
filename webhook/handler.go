package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
	"github.com/ownership-handoff/handoff/internal/rawjson"
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
// Rules and Events are required.
type Handler struct {
	Cluster  Cluster
	Managers ownership.Managers
	Rules    []ownership.Rule
	Metrics  *Metrics
	Log      logr.Logger
	// Events records an Event on the object for each decision; if nil, no Events are recorded.
	Events EventRecorder

	walkers  rawjson.Walkers
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
	ctx, cancel := requestContext(req)
	defer cancel()
	body, err := readBody(req)
	h.respond(w, h.review(ctx, body, err)) //nolint:contextcheck // derived from the request's context
	h.Metrics.duration.Observe(time.Since(start).Seconds())
}

func posted(w http.ResponseWriter, req *http.Request) bool {
	if req.Method == http.MethodPost {
		return true
	}
	http.Error(w, "handoff: POST an AdmissionReview of admission.k8s.io/v1", http.StatusMethodNotAllowed)
	return false
}

func (h *Handler) respond(w http.ResponseWriter, response *admissionv1.AdmissionResponse) {
	body, err := encode(response)
	if err != nil {
		h.Log.Error(err, "encoding the response failed")
		http.Error(w, "handoff: encoding the response failed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(body); err != nil { //nolint:gosec // JSON, and no browser
		h.Log.V(1).Info("the API server did not wait for the response", "error", err.Error())
	}
}

// readBody reads a body up to MaxBody. The buffer grows with the bytes received, because the Content-Length can be wrong. With an
// error, it also returns what was read so far, which most likely contains the uid. It does not copy a body that package serving
// has already read.
func readBody(req *http.Request) ([]byte, error) {
	if received, ok := req.Body.(interface{ Bytes() ([]byte, error) }); ok {
		body, err := received.Bytes()
		return checked(body, err)
	}
	var body []byte
	for {
		body = slices.Grow(body, bytes.MinRead)
		n, err := req.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > MaxBody:
			// Drain the body: a client that is still sending treats an early response as a failure. An API server never sends more.
			_, _ = io.Copy(io.Discard, io.LimitReader(req.Body, 4*MaxBody))
			return checked(body, nil)
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return checked(body, err)
		}
	}
}

func checked(body []byte, err error) ([]byte, error) {
	switch {
	case len(body) > MaxBody:
		return body, errTooLarge
	case err != nil:
		return body, fmt.Errorf("reading the body: %w", err)
	default:
		return body, nil
	}
}

// review answers one review. All errors and panics are handled here, with a response that allows the write unmodified.
func (h *Handler) review(ctx context.Context, body []byte, readErr error) (response *admissionv1.AdmissionResponse) {
	r := review{meter: newMeter(ctx, len(body))}
	defer func() {
		if p := recover(); p != nil {
			h.Log.Error(errPanic, "failed open: recovered from a panic", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			response = h.failOpen(&r, errPanic)
		}
	}()
	w := h.walkers.Walk(body)
	err := r.decode(w)
	h.walkers.Done(w)
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
	response, err = answerOf(&r, out)
	if err != nil {
		return h.failOpen(&r, err)
	}
	h.report(&r, out)
	return response
}

func (h *Handler) failOpen(r *review, err error) *admissionv1.AdmissionResponse {
	h.Metrics.failedOpen(reasonOf(err).label)
	h.Log.Error(err, "failed open: the write was not modified", r.identity()...)
	return failOpen(r, err)
}
