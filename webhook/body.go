package webhook

import (
	"fmt"
	"io"
	"net/http"
)

// readBody reads a body up to MaxBody. With an error, it also returns what was read so far, which most likely contains the uid.
// It does not copy a body that package serving has already read.
func readBody(req *http.Request) (body []byte, err error) {
	if received, ok := req.Body.(interface{ Bytes() ([]byte, error) }); ok {
		body, err = received.Bytes()
	} else {
		body, err = io.ReadAll(io.LimitReader(req.Body, MaxBody+1))
	}
	switch {
	case len(body) > MaxBody:
		// Drain the body: a client that is still sending treats an early response as a failure. An API server never sends more.
		_, _ = io.Copy(io.Discard, io.LimitReader(req.Body, 4*MaxBody))
		return body, errTooLarge
	case err != nil:
		return body, fmt.Errorf("reading the body: %w", err)
	default:
		return body, nil
	}
}
