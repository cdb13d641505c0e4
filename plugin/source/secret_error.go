package source

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Advise returns the error of a request about the object as one line, without the API server's message for a Secret.
func (s Subject) Advise(err error) error {
	var status apierrors.APIStatus
	if s.IsSecret() && errors.As(err, &status) && !IsPermission(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return wrapped{WithoutMessage(err).Error(), err}
	}
	return Advise(err, s.Namespace)
}

// IsPermission reports whether an API server's error is about permissions. Such a message does not quote the object.
func IsPermission(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" is forbidden: User "`)
}

// WithoutMessage returns an API server's error about a Secret with its reason and fields only. The message, especially that of an
// admission webhook, can quote the Secret's contents.
func WithoutMessage(err error) error {
	parts := []string{string(apierrors.ReasonForError(err))}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "" && cause.Field != "patch" {
				parts = append(parts, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
			}
		}
	}
	return fmt.Errorf("%s; the message is hidden because it can quote the Secret's contents: see kubectl apply --dry-run=server",
		strings.Join(parts, ": "))
}
