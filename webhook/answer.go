package webhook

import (
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
)

// response returns the response for an outcome, with its patch as JSON.
func (out outcome) response(uid string, patch []byte) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{
		UID: types.UID(uid), Allowed: true, Warnings: append(out.notes, out.warnings()...), AuditAnnotations: out.auditAnnotations(),
	}
	if len(out.decided.Operations) > 0 {
		response.Patch, response.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
	}
	return response
}

// unmodified returns the response that allows a write unmodified because of an error.
func unmodified(uid string, err error) *admissionv1.AdmissionResponse {
	warning := warningOf(protocol.Skipped, reasonOf(err).text, ": the write was not modified")
	return &admissionv1.AdmissionResponse{UID: types.UID(uid), Allowed: true, Warnings: []string{warning}}
}

// maxWarnings is how many fields are named in warnings: more would bury the important ones.
const maxWarnings = 8

// maxRecorded is how many fields are named in the audit log and in the webhook's log.
const maxRecorded = 100

func (out outcome) warnings() []string {
	more := func(others int) string { return warningOf("", moreFields(others), "") }
	warnings := firstOf(out.decided.Changes, maxWarnings, out.warning, more)
	if out.mode == optin.Enforce && slices.ContainsFunc(out.decided.Changes, isHeldBack) {
		warnings = append(warnings, warningOf("to hand replicas back to the manifest, apply again after deleting the autoscaler", "", ""))
	}
	return warnings
}

// firstOf returns the texts of the first changes and, if there are more than a maximum, a text about the number of the others.
func firstOf(changes []*merge.Change, most int, text func(*merge.Change) string, more func(others int) string) []string {
	var texts []string
	for i, c := range changes {
		if i == most {
			return append(texts, more(len(changes)-i))
		}
		texts = append(texts, text(c))
	}
	return texts
}

// grouped returns the changes by a name.
func grouped(changes []*merge.Change, nameOf func(*merge.Change) string) map[string][]*merge.Change {
	groups := map[string][]*merge.Change{}
	for _, c := range changes {
		groups[nameOf(c)] = append(groups[nameOf(c)], c)
	}
	return groups
}

func moreFields(others int) string { return strconv.Itoa(others) + " more fields" }

// auditAnnotations returns one annotation for each decision, as "keep-autoscaled": the first fields by path, and the number of
// the others.
func (out outcome) auditAnnotations() map[string]string {
	annotations := map[string]string{}
	for name, changes := range grouped(out.decided.Changes, func(c *merge.Change) string { return c.Decision.Name }) {
		annotations[name] = strings.Join(firstOf(changes, maxRecorded, out.record, moreFields), "; ")
	}
	return annotations
}
