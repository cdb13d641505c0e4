package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// buffers is the memory of one review, which is reused for later ones. Nothing may refer to it after the response is written:
// what logs, metrics and Events retain are strings, which are copies.
type buffers struct {
	patch, answer []byte
	reader        reader
}

// maxPooled is the size up to which a buffer is retained for later reviews, until the second garbage collection. Larger ones
// are rare, and would occupy memory that reviews in flight need.
const maxPooled = 64 << 10

func (h *Handler) borrow() *buffers {
	if b, ok := h.buffers.Get().(*buffers); ok {
		return b
	}
	return &buffers{}
}

func (h *Handler) give(b *buffers) {
	b.reader.release()
	for _, buffer := range []*[]byte{&b.patch, &b.answer} {
		if cap(*buffer) > maxPooled {
			*buffer = nil
		}
	}
	h.buffers.Put(b)
}

// expectedBody is the largest Content-Length for which the whole buffer is allocated at once. Beyond it, and if the
// Content-Length is too small, the buffer doubles as bytes arrive.
const expectedBody = 1 << 20

// readBody reads a body up to MaxBody. With an error, it also returns what was read so far, which most likely contains the uid.
// It does not copy a body that package serving has already read.
func readBody(req *http.Request) ([]byte, error) {
	if received, ok := req.Body.(interface{ Bytes() ([]byte, error) }); ok {
		body, err := received.Bytes()
		return checked(body, err)
	}
	body := make([]byte, 0, bytes.MinRead+max(0, min(req.ContentLength, expectedBody)))
	for {
		if cap(body)-len(body) < bytes.MinRead {
			body = slices.Grow(body, len(body)+bytes.MinRead)
		}
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
