package webhook

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var errShed = errors.New("too many reviews in flight")

// Shed answers a review immediately if too many reviews are in flight. It only parses the uid, and allows the write unmodified.
func (h *Handler) Shed(w http.ResponseWriter, req *http.Request) {
	if !posted(w, req) {
		return
	}
	body := io.LimitReader(req.Body, MaxBody)
	r := review{uid: uidOf(body)}
	// Drain the body: a client that is still sending treats an early response as a failure.
	_, _ = io.Copy(io.Discard, body)
	h.Metrics.failedOpen(reasonOf(errShed).label)
	h.shedding.Do(10*time.Second, func(times int) {
		h.Log.Error(errShed, "failed open: writes were not modified", "reviewsSinceLastLog", times)
	})
	h.respond(w, failOpen(&r, errShed))
}

// uidOf returns the uid of the review in a body, which may be truncated or invalid after it; "" if it is not found. It reads little
// more than the fields before the uid, which are short.
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

// enter reads the start of an object up to the value of a member, and reports whether it found the member.
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
