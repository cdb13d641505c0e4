package webhook

import (
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// MaxBody is the maximum size of a review in bytes: two objects of 3 MiB, which is the limit of the API server, and the rest
// of the review.
const MaxBody = 7 << 20

var (
	errTooLarge  = fmt.Errorf("the body is larger than %d bytes", MaxBody)
	errShed      = errors.New("too many reviews in flight")
	errPanic     = errors.New("panic")
	errNotReady  = errors.New("the caches have not synced yet")
	errNoReview  = errors.New("the body is not an admission.k8s.io/v1 AdmissionReview")
	errNoRequest = errors.New("the review has no request")
)

// reason is why a review failed open: a label for the metric and a text for the warning. The error itself is only logged: it
// can be long, and quote names from an object.
type reason struct{ label, text string }

// reasons are the reasons of known errors.
var reasons = []struct {
	err    error
	reason reason
}{
	{errTooLarge, reason{"body_too_large", "review too large"}},
	{errShed, reason{"shed", "too many reviews in flight"}},
	{errPanic, reason{"panic", "internal error"}},
	{merge.ErrPanic, reason{"panic", "internal error"}},
	{errNotReady, reason{"not_ready", "still starting"}},
	{errNoReview, reason{"bad_review", "the body is not an AdmissionReview"}},
	{errNoRequest, reason{"bad_review", "the review has no request"}},
	{ownership.ErrNotAnInteger, reason{"not_an_integer", "replicas is not an integer"}},
	{merge.ErrBudget, reason{"over_budget", "review too complex"}},
	{merge.ErrNotRestored, reason{"not_restored", "internal error"}},
	{ownership.ErrLastApplied, reason{"last_applied", "annotation last-applied-configuration is not valid"}},
	{ownership.ErrManagedFields, reason{"managed_fields", "metadata.managedFields is malformed"}},
	{ownership.ErrNotAnObject, reason{"bad_review", "an object of the review is not a JSON object"}},
}

func reasonOf(err error) reason {
	for _, known := range reasons {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return reason{"bad_review", "the review cannot be parsed"}
}
