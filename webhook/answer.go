package webhook

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// answerOf returns the response for an outcome. It always allows the write.
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

// maxWarnings is how many fields are named in warnings: more would bury the important ones.
const maxWarnings = 8

// maxRecorded is how many fields are named in the audit log and in the webhook's log.
const maxRecorded = 100

func (out outcome) warnings() []string {
	var lines []string
	for i, c := range out.changes {
		if i == maxWarnings {
			return append(lines, warningOf("", strconv.Itoa(len(out.changes)-i)+" more fields", ""))
		}
		lines = append(lines, c.warning(out.mode))
	}
	return lines
}

// auditAnnotations returns one annotation for each decision, as "keep-autoscaled": the first fields by path, and the number of
// the others.
func (out outcome) auditAnnotations() map[string]string {
	if len(out.changes) == 0 {
		return nil
	}
	texts, more := map[string][]string{}, map[string]int{}
	for _, c := range out.changes {
		key := c.Change.Decision.Name
		if len(texts[key]) == maxRecorded {
			more[key]++
			continue
		}
		texts[key] = append(texts[key], c.record(out.mode))
	}
	annotations := map[string]string{}
	for key, list := range texts {
		if more[key] > 0 {
			list = append(list, strconv.Itoa(more[key])+" more fields")
		}
		annotations[key] = strings.Join(list, "; ")
	}
	return annotations
}

// failOpen returns the response that allows a write unmodified because of an error.
func failOpen(r *review, err error) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{
		UID: types.UID(r.uid), Allowed: true,
		Warnings: []string{warningOf("skipped, ", reasonOf(err).text, ": the write was not modified")},
	}
}

// reason is why a review failed open: a label for the metric and a text for the warning. The error itself is only logged: it
// can be long, and quote names from an object.
type reason struct{ label, text string }

func reasonOf(err error) reason {
	for _, known := range []struct {
		err error
		reason
	}{
		{errTooLarge, reason{"body_too_large", "review too large"}},
		{errShed, reason{"shed", "too many reviews in flight"}},
		{errPanic, reason{"panic", "internal error"}},
		{errNotReady, reason{"not_ready", "still starting"}},
		{errNoReview, reason{"bad_review", "the body is not an AdmissionReview"}},
		{errNoRequest, reason{"bad_review", "the review has no request"}},
		{merge.ErrNotAnInteger, reason{"not_a_number", "replicas is not an integer"}},
		{merge.ErrBudget, reason{"over_budget", "review too complex"}},
		{merge.ErrNotRestored, reason{"not_whole", "internal error"}},
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

// encode returns the AdmissionReview with a response as JSON.
func encode(response *admissionv1.AdmissionResponse) ([]byte, error) {
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
}
