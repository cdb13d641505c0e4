package webhook

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/decision"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// answerOf returns the response that an outcome makes. It allows the write, always.
func answerOf(r *review, out outcome) (*admissionv1.AdmissionResponse, error) {
	response := &admissionv1.AdmissionResponse{UID: types.UID(r.uid), Allowed: true, Warnings: out.notes}
	response.Warnings = append(response.Warnings, out.warnings()...)
	response.AuditAnnotations = out.auditAnnotations()
	if len(out.operations) == 0 {
		return response, nil
	}
	patch, err := merge.EncodePatch(out.operations)
	if err != nil {
		return nil, err
	}
	patchType := admissionv1.PatchTypeJSONPatch
	response.Patch, response.PatchType = patch, &patchType
	return response, nil
}

// maxWarnings is how many fields a writer is told about by name: more would bury what matters.
const maxWarnings = 8

// maxRecorded is how many fields the audit log and the log of the webhook have by name.
const maxRecorded = 100

func (out outcome) warnings() []string {
	var lines []string
	for i, c := range out.changes {
		if i == maxWarnings {
			return append(lines, warningOf("", strconv.Itoa(len(out.changes)-i)+" more fields likewise", ""))
		}
		lines = append(lines, c.warning(out.mode))
	}
	return lines
}

// auditAnnotations returns a text for each row of the decision table that decided something: the first fields by name, and
// how many there are besides.
func (out outcome) auditAnnotations() map[string]string {
	if len(out.changes) == 0 {
		return nil
	}
	texts, more := map[string][]string{}, map[string]int{}
	for _, c := range out.changes {
		key := "row-" + strconv.Itoa(c.Row)
		if len(texts[key]) == maxRecorded {
			more[key]++
			continue
		}
		texts[key] = append(texts[key], c.record(out.mode))
	}
	annotations := map[string]string{}
	for key, list := range texts {
		if more[key] > 0 {
			list = append(list, strconv.Itoa(more[key])+" more fields likewise")
		}
		annotations[key] = strings.Join(list, "; ")
	}
	return annotations
}

// failOpen returns the response for a write that handoff lets through because it could not do its work.
func failOpen(r *review, err error) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{
		UID: types.UID(r.uid), Allowed: true,
		Warnings: []string{warningOf("did nothing: ", reasonOf(err).text, "; the write went through unchanged")},
	}
}

// reason is why handoff failed open: a label for the metric and a text for the warning. The error itself goes to the log
// only: it can be long, and quote names from an object.
type reason struct{ label, text string }

func reasonOf(err error) reason {
	for _, known := range []struct {
		err error
		reason
	}{
		{errTooLarge, reason{"body_too_large", "the review is too large"}},
		{errShed, reason{"shed", "too many reviews are in flight"}},
		{errPanic, reason{"panic", "an internal error"}},
		{errNotReady, reason{"not_ready", "it is starting"}},
		{errNoReview, reason{"bad_review", "the body is no AdmissionReview"}},
		{errNoRequest, reason{"bad_review", "the review has no request"}},
		{decision.ErrNotANumber, reason{"not_a_number", "the scale field is no whole number"}},
		{decision.ErrBudget, reason{"over_budget", "the review takes too much work"}},
		{merge.ErrNotWhole, reason{"not_whole", "an internal error"}},
		{ownership.ErrLastApplied, reason{"last_applied", "annotation last-applied-configuration is broken"}},
		{ownership.ErrManagedFields, reason{"managed_fields", "metadata.managedFields are malformed"}},
		{ownership.ErrNotAnObject, reason{"bad_review", "an object of the review is no object"}},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return reason{"bad_review", "the review cannot be read"}
}

// encode returns the body of an answer.
func encode(response *admissionv1.AdmissionResponse) ([]byte, error) {
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
}
