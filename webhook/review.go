package webhook

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// review contains the fields of an AdmissionReview's request that are read (k8s.io/api/admission/v1).
type review struct {
	uid, operation, subResource string
	// write refers to the text of the review: its objects are not parsed into values.
	write ownership.Write
	// guardMissing reports whether no guard is installed, so that a client has written the guard's condition.
	guardMissing bool
}

// outcome is the result of evaluating a review. The zero outcome allows the write unmodified, without warnings.
type outcome struct {
	mode   optin.Mode
	secret bool // whether the values of fields must not appear in any text
	// decided are the decisions; without operations in mode warn.
	decided merge.Outcome
	// notes are the warnings that are not about a field.
	notes []string
}

// decode reads a body. If it returns an error, r contains what was read before, in particular the uid, which the response needs.
func (r *review) decode(body []byte) error {
	root, err := jsontree.Parse(body)
	if err != nil {
		r.uid = uidOf(body)
		return fmt.Errorf("reading the review: %w", err)
	}
	request := root.Member("request")
	text := func(names ...string) string {
		s, _ := request.At(names...).String()
		return s
	}
	r.uid, r.operation, r.subResource = text("uid"), text("operation"), text("subResource")
	w := &r.write
	w.Namespace, w.Name = text("namespace"), text("name")
	w.Kind = schema.GroupVersionKind{Group: text("kind", "group"), Version: text("kind", "version"), Kind: text("kind", "kind")}
	w.FieldManager, w.DryRun = text("options", "fieldManager"), request.Member("dryRun").Kind() == 't'
	apiVersion, _ := root.Member("apiVersion").String()
	kind, _ := root.Member("kind").String()
	switch {
	case apiVersion != "admission.k8s.io/v1" || kind != "AdmissionReview":
		return errNoReview
	case !request.IsObject() || r.uid == "":
		return errNoRequest
	}
	if w.Incoming, err = ownership.ObjectAt(request.Member("object")); err != nil {
		return fmt.Errorf("reading the review: object: %w", err)
	}
	if w.Live, err = ownership.ObjectAt(request.Member("oldObject")); err != nil {
		return fmt.Errorf("reading the review: oldObject: %w", err)
	}
	if r.operation == "CREATE" {
		w.Live = ownership.Object{}
	}
	return nil
}

// uidOf returns the uid of the review in a body, which may be truncated or invalid after it; "" if it is not found. It reads little
// more than the fields before the uid, which are short.
func uidOf(body []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
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

// The budget of a review in steps, of which each is about one byte read. While fields are kept, both objects and the last-applied
// configurations in them are read about ten times; more steps mean that the work is not linear in their size.
const (
	minSteps     = 1 << 20
	stepsPerByte = 64
	// pollSteps is the number of steps between two checks of the request's context.
	pollSteps = 1 << 16
)

// newMeter returns the meter of a review with a body of size bytes. Once the budget is exhausted or the context is done, it stays so, and
// beyond 32 KiB, once memory is short: a review with many short fields takes thirty times its size.
func newMeter(ctx context.Context, size int) ownership.Meter {
	left, poll := minSteps+stepsPerByte*size, 0
	return func(steps int) bool {
		left -= steps
		if poll -= steps; poll < 0 {
			poll = pollSteps
			if ctx.Err() != nil || size > 32<<10 && memoryIsShort() {
				left = -1
			}
		}
		return left >= 0
	}
}

// memoryIsShort reports whether a garbage collection leaves more than half of what GOMEMLIMIT allows.
func memoryIsShort() bool {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for _, collect := range []func(){func() {}, runtime.GC} { // the last collection can be long ago
		collect()
		metrics.Read(live)
		if live[0].Value.Uint64() <= uint64(debug.SetMemoryLimit(-1))/2 { //nolint:gosec // it is not negative
			return false
		}
	}
	return true
}

// withTimeout returns the context of a request, which is done when the API server stops waiting: it closes the connection, and
// sends its timeout in the query (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go).
func withTimeout(req *http.Request) (context.Context, context.CancelFunc) {
	timeout, err := time.ParseDuration(req.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 {
		return req.Context(), func() {}
	}
	return context.WithTimeout(req.Context(), timeout)
}
