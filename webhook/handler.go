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

// MaxBody is the most bytes of a review that are read: two objects of the 3 MiB that the API server takes, and what
// surrounds them.
const MaxBody = 7 << 20

var (
	errTooLarge = fmt.Errorf("the body is over %d bytes", MaxBody)
	errPanic    = errors.New("panic")
)

// Handler answers AdmissionReviews (admission.k8s.io/v1) over HTTP. Every answer allows the write. All fields but Rules
// and Events are required.
type Handler struct {
	Cluster  Cluster
	Managers ownership.Managers
	Rules    []ownership.Rule
	Metrics  *Metrics
	Log      logr.Logger
	// Events records what was kept on the object; nil records nothing.
	Events EventRecorder

	walkers  rawjson.Walkers
	shedding ratelimit.Log

	eventLimit eventLimit
}

// ServeHTTP answers one review. The status is 200 for whatever is posted: anything else would be an error to the API
// server, and under failurePolicy Fail a denial.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !posted(w, req) {
		return
	}
	start := time.Now()
	ctx, cancel := waitedFor(req)
	defer cancel()
	body, err := readBody(req)
	h.respond(w, h.review(ctx, body, err)) //nolint:contextcheck // it is the request's own
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
	answer, err := encode(response)
	if err != nil {
		h.Log.Error(err, "the answer could not be encoded")
		http.Error(w, "handoff: the answer could not be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(answer); err != nil { //nolint:gosec // JSON, and no browser
		h.Log.V(1).Info("the API server did not wait for the answer", "error", err.Error())
	}
}

// readBody reads a body up to the limit, into a buffer that grows with what arrives: what is announced proves nothing. With
// errTooLarge comes what was read: the uid stands at its front. A body that package serving has read is not copied.
func readBody(req *http.Request) ([]byte, error) {
	if arrived, ok := req.Body.(interface{ Bytes() ([]byte, error) }); ok {
		body, err := arrived.Bytes()
		return checked(body, err)
	}
	var body []byte
	for {
		body = slices.Grow(body, bytes.MinRead)
		n, err := req.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > MaxBody:
			// A client that is still sending treats an early response as a failure. What is larger still is from no API server.
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

// review answers one review: the one place where errors and panics become an answer that lets the write through.
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
