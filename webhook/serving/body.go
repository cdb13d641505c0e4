package serving

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

const (
	// defaultMaxBody applies if Options.MaxBody is 0.
	defaultMaxBody = 7 << 20
	// firstBuffer is the initial buffer of a review, and all that a connection costs that sends a header and no body.
	firstBuffer = 4 << 10
	// discardFactor limits how much of a body that is too large is read and discarded, in multiples of MaxBody: a client that is
	// still sending treats an early response as a failure.
	discardFactor = 4
)

// body is a request body that has been read, with the error that ended it early, if any.
type body struct {
	reader io.Reader // of text
	text   []byte
	err    error
}

// Bytes returns the whole body without a copy, and the error that ended it early.
func (b *body) Bytes() ([]byte, error) { return b.text, b.err }

func (b *body) Read(into []byte) (int, error) {
	n, err := b.reader.Read(into)
	if err != nil && b.err != nil {
		err = b.err
	}
	return n, err
}

func (*body) Close() error { return nil }

// read reads a request's body and replaces req.Body with the result. Of a refused review, it retains only the first bytes, which
// contain its uid.
func (p *pendingReview) read(req *http.Request) {
	limit := int(p.limiter.maxBody) + 1
	text := make([]byte, 0, firstBuffer)
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
		if ended {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			req.Body, req.ContentLength = &body{bytes.NewReader(text), text, err}, int64(len(text))
			return
		}
		if len(text) == cap(text) {
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
	grown := make([]byte, len(text), size)
	copy(grown, text)
	return grown
}
