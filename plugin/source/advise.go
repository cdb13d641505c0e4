package source

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

// Advise returns the error of a request as one line, with a remedy, unless it has one; namespace is that of the request, or "".
func Advise(err error, namespace string) error {
	var advised wrapped
	if errors.As(err, &advised) {
		return err
	}
	line := strings.Join(strings.Fields(err.Error()), " ")
	var unreachable *url.Error
	switch {
	case clientcmd.IsEmptyConfig(err):
		line = "no cluster is configured; select one with --kubeconfig or --context"
	case clientcmd.IsContextNotFound(err), strings.HasPrefix(line, "context ") && strings.HasSuffix(line, "does not exist"):
		line += "; see kubectl config get-contexts"
	case errors.As(err, &unreachable):
		line += "; select another cluster with --context"
	case apierrors.IsNotFound(err):
		line += strings.TrimSuffix("; see kubectl get "+resourceOf(err), " ")
		if namespace != "" && resourceOf(err) != "namespaces" {
			line += " -n " + namespace
		}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		line += "; ask for that permission, or select another user with --context"
	case meta.IsNoMatchError(err), strings.Contains(line, "server doesn't have a resource type"):
		line += "; see kubectl api-resources"
	}
	return wrapped{line, err}
}

// IsUnreachable reports whether an error says that there is no cluster, or that its API server does not respond.
func IsUnreachable(err error) bool {
	var unreachable *url.Error
	var advised wrapped
	return errors.As(err, &unreachable) || errors.As(err, &advised) && clientcmd.IsEmptyConfig(advised.err)
}

// wrapped is an error with another text.
type wrapped struct {
	line string
	err  error
}

func (w wrapped) Error() string { return w.line }

func (w wrapped) Unwrap() error { return w.err }

// resourceOf returns the resource that an API server's error is about, such as deployments.apps.
func resourceOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Kind == "" {
		return ""
	}
	return schema.GroupResource{Group: status.Status().Details.Group, Resource: status.Status().Details.Kind}.String()
}

// Advise returns the error of a request about the object as one line, without the API server's message for a Secret.
func (i Identity) Advise(err error) error {
	var status apierrors.APIStatus
	if i.IsSecret() && errors.As(err, &status) && !IsPermission(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return wrapped{WithoutMessage(err).Error(), err}
	}
	return Advise(err, i.Namespace)
}

// IsPermission reports whether an API server's error is about permissions. Such a message does not quote the object.
func IsPermission(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), ` is forbidden: User "`)
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
