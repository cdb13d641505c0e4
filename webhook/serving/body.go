package serving

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

const (
	// firstBuffer is the initial buffer of a review, and all that a connection costs that sends a header and no body.
	firstBuffer = 4 << 10
	// discardFactor limits how much of a body that is too large is read and discarded, in multiples of MaxBody: a client that is
	// still sending treats an early response as a failure.
	discardFactor = 4
)

// read reads a request's body. Of a refused review, it returns only the first bytes, which contain its uid. err is the error that
// ended the body early.
func (p *pendingReview) read(req *http.Request) (text []byte, err error) {
	limit := int(p.limiter.maxBody) + 1
	text = make([]byte, 0, firstBuffer)
	for {
		n, err := req.Body.Read(text[len(text):min(cap(text), limit)])
		text = text[:len(text)+n]
		ended := err != nil
		fits := p.received(n)
		if !fits {
			text = bytes.Clone(text[:min(len(text), firstBuffer)])
		}
		if !fits || !ended && len(text) == limit {
			_, err = io.Copy(io.Discard, io.LimitReader(req.Body, discardFactor*p.limiter.maxBody))
			ended = true
		}
		switch {
		case ended && errors.Is(err, io.EOF):
			return text, nil
		case ended:
			return text, err
		case len(text) == cap(text):
			text = grow(text, req.ContentLength, limit)
		}
	}
}

// grow returns text in a larger buffer: twice as large, or as large as the Content-Length if that is less.
func grow(text []byte, contentLength int64, limit int) []byte {
	size := min(2*cap(text), limit)
	if contentLength >= int64(len(text)) && contentLength < int64(size) {
		size = int(contentLength) + 1 // one more, to detect the end
	}
	return append(make([]byte, 0, size), text...)
}
