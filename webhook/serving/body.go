package serving

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

const (
	// defaultMaxBody is for Options without MaxBody.
	defaultMaxBody = 7 << 20
	// firstBuffer is what a connection may cost that announces a review and sends none.
	firstBuffer = 4 << 10
	// drained is how many times MaxBody is read and thrown away of a body that is too large: a client that is still sending
	// treats an early response as a failure.
	drained = 4
)

// body is one that has arrived. With it comes the error that it ended with, if it was cut.
type body struct {
	io.Reader

	text []byte
	err  error
}

// Bytes returns the whole body, as if by reading it.
func (b *body) Bytes() ([]byte, error) { return b.text, b.err }

func (*body) Close() error { return nil }

// read reads a request's body, and puts it in place of the one that is read: of one that is refused, no more than what its
// uid is found in.
func (p *passage) read(req *http.Request) {
	limit := int(p.limiter.maxBody) + 1
	text := make([]byte, 0, firstBuffer)
	for {
		n, err := req.Body.Read(text[len(text):min(cap(text), limit)])
		text = text[:len(text)+n]
		ended := err != nil
		fits := p.arrive(n)
		if !fits {
			text = bytes.Clone(text[:min(len(text), firstBuffer)])
		}
		if !fits || !ended && len(text) == limit {
			_, err = io.Copy(io.Discard, io.LimitReader(req.Body, drained*p.limiter.maxBody))
			ended = true
		}
		switch {
		case errors.Is(err, io.EOF):
			replace(req, text, nil)
			return
		case ended:
			replace(req, text, err)
			return
		case len(text) == cap(text):
			text = grow(text, req.ContentLength, limit)
		}
	}
}

// grow makes room for as much again as has arrived, or for what is announced if that is less.
func grow(text []byte, announced int64, limit int) []byte {
	size := min(2*cap(text), limit)
	if announced >= int64(len(text)) && announced < int64(size) {
		size = int(announced) + 1 // one more, to see the end
	}
	grown := make([]byte, len(text), size)
	copy(grown, text)
	return grown
}

func replace(req *http.Request, text []byte, err error) {
	reader := io.Reader(bytes.NewReader(text))
	if err != nil {
		reader = io.MultiReader(reader, failing{err})
	}
	req.Body, req.ContentLength = &body{reader, text, err}, int64(len(text))
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
