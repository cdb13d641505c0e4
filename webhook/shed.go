package webhook

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var errShed = errors.New("too many reviews in flight")

// Shed answers a review at once, for when there are too many to work on: it reads no more of it than its uid, and lets
// the write through unchanged.
func (h *Handler) Shed(w http.ResponseWriter, req *http.Request) {
	if !posted(w, req) {
		return
	}
	body := io.LimitReader(req.Body, MaxBody)
	r := review{uid: uidOf(body)}
	// To who is still sending, an answer with the end of the connection looks like a failure.
	_, _ = io.Copy(io.Discard, body)
	h.Metrics.failedOpen(reasonOf(errShed).label)
	h.shedding.Do(10*time.Second, func(times int) {
		h.Log.Error(errShed, "failed open: writes were not modified", "reviews since the last line", times)
	})
	h.respond(w, failOpen(&r, errShed))
}

// uidOf returns the uid of the review that a body holds, as far as it can be found. It reads little more than what stands
// before it, which is little.
func uidOf(body io.Reader) string {
	dec := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true))
	if !enter(dec, "request") || !enter(dec, "uid") {
		return ""
	}
	uid, err := dec.ReadToken()
	if err != nil || uid.Kind() != '"' {
		return ""
	}
	return uid.String()
}

// enter goes into an object and up to the value of one of its members.
func enter(dec *jsontext.Decoder, member string) bool {
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		if name.String() == member {
			return true
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
}
