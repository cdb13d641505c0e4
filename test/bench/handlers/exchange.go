package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// Exchange sends the same review repeatedly at almost no cost of its own: it opens no connection, reuses its request and
// discards the answers.
type Exchange struct {
	body    []byte
	reader  *bytes.Reader
	request *http.Request
	answer  answer
}

// NewExchange returns an Exchange that sends the given review.
func NewExchange(body []byte) (*Exchange, error) {
	e := &Exchange{body: body, reader: bytes.NewReader(body), answer: answer{header: http.Header{}}}
	var err error
	//nolint:noctx // this is a server's request, without a client's context
	if e.request, err = http.NewRequest(http.MethodPost, "/mutate", io.NopCloser(e.reader)); err != nil {
		return nil, fmt.Errorf("creating a request: %w", err)
	}
	e.request.Header.Set("Content-Type", "application/json")
	e.request.ContentLength = int64(len(body))
	return e, nil
}

// Benchmark returns a benchmark of a handler, for testing.Benchmark or testing.B.Run.
func (e *Exchange) Benchmark(handler http.Handler) func(*testing.B) {
	return func(b *testing.B) {
		b.Helper()
		b.ReportAllocs()
		b.SetBytes(int64(len(e.body)))
		for b.Loop() {
			e.serve(handler)
		}
	}
}

// Answer returns a handler's response, which must allow the write.
func (e *Exchange) Answer(handler http.Handler) (*admissionv1.AdmissionResponse, error) {
	var kept bytes.Buffer
	e.answer.body = &kept
	defer func() { e.answer.body = nil }()
	e.serve(handler)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(kept.Bytes(), &review); err != nil {
		return nil, fmt.Errorf("parsing the answer: %w", err)
	}
	if review.Response == nil || !review.Response.Allowed {
		return nil, fmt.Errorf("the answer does not allow the write: %s", kept.Bytes())
	}
	return review.Response, nil
}

// Send returns a function that sends the review once and discards the answer.
func (e *Exchange) Send(handler http.Handler) func() { return func() { e.serve(handler) } }

func (e *Exchange) serve(handler http.Handler) {
	e.reader.Reset(e.body)
	handler.ServeHTTP(&e.answer, e.request)
}

// answer is an http.ResponseWriter that writes to body, or discards what is written if body is nil.
type answer struct {
	header http.Header
	body   *bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) WriteHeader(int)     {}
func (a *answer) Write(p []byte) (int, error) {
	if a.body != nil {
		return a.body.Write(p)
	}
	return len(p), nil
}
