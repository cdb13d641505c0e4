package source

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Advise returns an error of a request about the object as one line. Of a Secret it has no message of the API server's.
func (s Subject) Advise(err error) error {
	var status apierrors.APIStatus
	if s.IsSecret() && errors.As(err, &status) && !IsPermission(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return wrapped{WithoutMessage(err).Error(), err}
	}
	return Advise(err, s.Namespace)
}

// IsPermission reports whether an error of the API server is about permission: such a message quotes no object.
func IsPermission(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" is forbidden: User "`)
}

// WithoutMessage returns what the API server has against a Secret, by the reason and the fields alone: messages, of
// admission webhooks above all, can quote what the Secret holds.
func WithoutMessage(err error) error {
	said := []string{string(apierrors.ReasonForError(err))}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "" && cause.Field != "patch" {
				said = append(said, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
			}
		}
	}
	return fmt.Errorf("%s; the message can quote what the Secret holds, and is not shown: see kubectl apply --dry-run=server",
		strings.Join(said, ": "))
}
