package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/merge"
)

// Answer answers a review. body is what was received of it before readErr, most likely with the uid. The status is always 200: the
// API server treats any other status as an error, and with failurePolicy Fail it would deny the write.
func (h *Handler) Answer(w http.ResponseWriter, req *http.Request, body []byte, readErr error) {
	start := time.Now()
	ctx, cancel := withTimeout(req)
	defer cancel()
	switch {
	case len(body) > MaxBody:
		readErr = errTooLarge
	case readErr != nil:
		readErr = fmt.Errorf("reading the body: %w", readErr)
	}
	h.respond(w, h.review(ctx, body, readErr))
	h.Metrics.duration.Observe(time.Since(start).Seconds())
}

// Shed answers a review immediately if too many reviews are in flight. It only parses the uid, and allows the write unmodified.
func (h *Handler) Shed(w http.ResponseWriter, body []byte) {
	h.Metrics.failedOpen(errShed)
	h.shedding.Do(10*time.Second, func(times int) {
		h.Log.Error(errShed, "failed open: writes were not modified", "reviewsSinceLastLog", times)
	})
	h.respond(w, unmodified(uidOf(body), errShed))
}

// review answers one review. All errors and panics are handled here, with a response that allows the write unmodified.
func (h *Handler) review(ctx context.Context, body []byte, readErr error) (answer *admissionv1.AdmissionResponse) {
	r := review{guardMissing: h.GuardMissing != nil && h.GuardMissing()}
	r.write.Meter = newMeter(ctx, len(body))
	defer func() {
		if p := recover(); p != nil {
			h.Log.Error(errPanic, "failed open: recovered from a panic", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			answer = h.failOpen(&r, errPanic)
		}
	}()
	if err := cmp.Or(readErr, r.decode(body)); err != nil {
		return h.failOpen(&r, err)
	}
	out, err := h.evaluate(&r)
	if err != nil {
		return h.failOpen(&r, err)
	}
	patch, err := merge.EncodePatch(out.decided.Operations)
	if err != nil {
		return h.failOpen(&r, err)
	}
	answer = out.response(r.uid, patch)
	h.report(&r, out)
	return answer
}

func (h *Handler) failOpen(r *review, err error) *admissionv1.AdmissionResponse {
	h.Metrics.failedOpen(err)
	h.Log.Error(err, "failed open: the write was not modified", r.identity()...)
	return unmodified(r.uid, err)
}

func (h *Handler) respond(w http.ResponseWriter, response *admissionv1.AdmissionResponse) {
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Response: response,
	}
	// A json.Encoder would reuse the text, which net/http may still read for a connection that was closed (golang/go#20704).
	text, err := json.Marshal(review)
	if err != nil {
		h.Log.Error(err, "encoding the response")
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(text); err != nil {
		h.Log.V(1).Info("the API server did not wait for the response", "error", err.Error())
	}
}
