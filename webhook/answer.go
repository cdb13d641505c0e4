package webhook

import (
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// response is an AdmissionResponse (k8s.io/api/admission/v1) that allows the write.
type response struct {
	uid   string
	patch []byte // a JSON patch, empty if the write is not modified
	// audit are the audit annotations, sorted by key.
	audit    []auditAnnotation
	warnings []string
}

type auditAnnotation struct{ key, text string }

// answerOf returns the response for an outcome, with its patch as JSON.
func answerOf(r *review, out outcome, patch []byte) response {
	answer := response{uid: r.uid, audit: out.auditAnnotations(), warnings: append(out.notes, out.warnings()...)}
	if len(out.operations) > 0 {
		answer.patch = patch
	}
	return answer
}

// maxWarnings is how many fields are named in warnings: more would bury the important ones.
const maxWarnings = 8

// maxRecorded is how many fields are named in the audit log and in the webhook's log.
const maxRecorded = 100

func (out outcome) warnings() []string {
	text := func(c change) string { return c.warning(out.mode) }
	more := func(others int) string { return warningOf("", moreFields(others), "") }
	return firstOf(out.changes, maxWarnings, text, more)
}

// firstOf returns the texts of the first changes and, if there are more than a maximum, a text about the number of the others.
func firstOf(changes []change, most int, text func(change) string, more func(others int) string) []string {
	var texts []string
	for i, c := range changes {
		if i == most {
			return append(texts, more(len(changes)-i))
		}
		texts = append(texts, text(c))
	}
	return texts
}

func moreFields(others int) string { return strconv.Itoa(others) + " more fields" }

// auditAnnotations returns one annotation for each decision, as "keep-autoscaled": the first fields by path, and the number of
// the others.
func (out outcome) auditAnnotations() []auditAnnotation {
	var annotations []auditAnnotation
	for _, c := range out.changes {
		name := c.Change.Decision.Name
		if !slices.ContainsFunc(annotations, func(a auditAnnotation) bool { return a.key == name }) {
			annotations = append(annotations, auditAnnotation{name, out.auditText(name)})
		}
	}
	slices.SortFunc(annotations, func(a, b auditAnnotation) int { return strings.Compare(a.key, b.key) })
	return annotations
}

// auditText returns the fields with a decision. There are few decisions.
func (out outcome) auditText(decision string) string {
	var changes []change
	for _, c := range out.changes {
		if c.Change.Decision.Name == decision {
			changes = append(changes, c)
		}
	}
	text := func(c change) string { return c.record(out.mode) }
	return strings.Join(firstOf(changes, maxRecorded, text, moreFields), "; ")
}

// failOpen returns the response that allows a write unmodified because of an error.
func failOpen(r *review, err error) response {
	return response{
		uid:      r.uid,
		warnings: []string{warningOf("skipped, ", reasonOf(err).text, ": the write was not modified")},
	}
}

// reason is why a review failed open: a label for the metric and a text for the warning. The error itself is only logged: it
// can be long, and quote names from an object.
type reason struct{ label, text string }

func reasonOf(err error) reason {
	for _, known := range []struct {
		err    error
		reason reason
	}{
		{errTooLarge, reason{"body_too_large", "review too large"}},
		{errShed, reason{"shed", "too many reviews in flight"}},
		{errPanic, reason{"panic", "internal error"}},
		{errNotReady, reason{"not_ready", "still starting"}},
		{errNoReview, reason{"bad_review", "the body is not an AdmissionReview"}},
		{errNoRequest, reason{"bad_review", "the review has no request"}},
		{merge.ErrNotAnInteger, reason{"not_an_integer", "replicas is not an integer"}},
		{merge.ErrBudget, reason{"over_budget", "review too complex"}},
		{merge.ErrNotRestored, reason{"not_restored", "internal error"}},
		{ownership.ErrLastApplied, reason{"last_applied", "annotation last-applied-configuration is not valid JSON"}},
		{ownership.ErrManagedFields, reason{"managed_fields", "metadata.managedFields is malformed"}},
		{ownership.ErrNotAnObject, reason{"bad_review", "an object of the review is not a JSON object"}},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return reason{"bad_review", "the review cannot be parsed"}
}

// appendReview appends the AdmissionReview with the response as JSON. Characters that are not valid UTF-8 are replaced.
func (r response) appendReview(to []byte) []byte {
	to = append(to, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":`...)
	to = appendString(to, r.uid)
	to = append(to, `,"allowed":true`...)
	if len(r.patch) > 0 {
		to = append(to, `,"patch":"`...)
		to = base64.StdEncoding.AppendEncode(to, r.patch)
		to = append(to, `","patchType":"JSONPatch"`...)
	}
	for i, a := range r.audit {
		to = append(to, separator(i, `,"auditAnnotations":{`)...)
		to = append(appendString(to, a.key), ':')
		to = appendString(to, a.text)
	}
	if len(r.audit) > 0 {
		to = append(to, '}')
	}
	for i, warning := range r.warnings {
		to = append(to, separator(i, `,"warnings":[`)...)
		to = appendString(to, warning)
	}
	if len(r.warnings) > 0 {
		to = append(to, ']')
	}
	return append(to, "}}"...)
}

// separator returns what comes before the part at an index.
func separator(index int, opening string) string {
	if index == 0 {
		return opening
	}
	return ","
}

func appendString(to []byte, s string) []byte {
	to, _ = jsontext.AppendQuote(to, s) // the error is about invalid UTF-8, which is replaced
	return to
}
