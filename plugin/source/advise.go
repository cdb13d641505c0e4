package source

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
)

// Advise returns the error of a request as one line, with a remedy; namespace is that of the request, or "".
func Advise(err error, namespace string) error {
	line := strings.Join(strings.Fields(err.Error()), " ")
	advice := ""
	var unreachable *url.Error
	var status apierrors.APIStatus
	switch {
	case clientcmd.IsEmptyConfig(err):
		line = "no cluster is configured"
		advice = "select one with --kubeconfig or --context"
	case clientcmd.IsContextNotFound(err), strings.HasPrefix(line, "context ") && strings.HasSuffix(line, "does not exist"):
		advice = "see kubectl config get-contexts"
	case errors.As(err, &unreachable):
		advice = "select another cluster with --context"
	case strings.Contains(line, "dial tcp"): // the resource builder wraps errors as text only
		advice = "select another cluster with --context"
	case apierrors.IsNotFound(err):
		if advice = "see kubectl get" + resourceOf(err); resourceOf(err) != " namespaces" {
			advice += inNamespace(namespace)
		}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		advice = "ask for that permission, or select another user with --context"
	case meta.IsNoMatchError(err), strings.Contains(line, "server doesn't have a resource type"):
		advice = "see kubectl api-resources"
	case errors.As(err, &status):
	default:
		return errors.New(line)
	}
	if advice == "" {
		return wrapped{line, err}
	}
	return wrapped{fmt.Sprintf("%s; %s", line, advice), err}
}

// IsUnreachable reports whether an error says that there is no cluster, or that its API server does not respond.
func IsUnreachable(err error) bool {
	var unreachable *url.Error
	var advised wrapped
	return errors.As(err, &unreachable) || errors.As(err, &advised) && clientcmd.IsEmptyConfig(advised.err) ||
		strings.Contains(err.Error(), "dial tcp") // the resource builder wraps errors as text only
}

// wrapped is an error with another text.
type wrapped struct {
	line string
	err  error
}

func (w wrapped) Error() string { return w.line }

func (w wrapped) Unwrap() error { return w.err }

func resourceOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Kind == "" {
		return ""
	}
	details := status.Status().Details
	if details.Group == "" {
		return " " + details.Kind
	}
	return " " + details.Kind + "." + details.Group
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}
