package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/protocol"
)

// proxyTimeout limits the request through the API server, which itself waits up to 30 seconds for a connection.
const proxyTimeout = 12 * time.Second

// methodAnswer is in the webhook's response to a GET request.
const methodAnswer = protocol.MethodNotAllowed

// checkNetwork asks the API server for a page of the webhook through the Service, if a dry run was not answered: the API server
// takes the same way as for a review, but returns its error.
func (d *diagnosis) checkNetwork(ctx context.Context, c *Check) {
	ref := d.in.ServiceReference()
	switch {
	case d.answered && !d.silent:
		c.Detail = "the dry run was answered"
		return
	case !d.silent:
		c.skip("there was no dry run")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	path := fmt.Sprintf("/api/v1/namespaces/%s/services/https:%s:%d/proxy/mutate", ref.Namespace, ref.Name, d.port)
	body, err := d.discovery.RESTClient().Get().AbsPath(path).Do(ctx).Raw()
	text := messageOf(body, err)
	object := named("service", ref.Name, ref.Namespace)
	switch {
	case strings.Contains(text, methodAnswer):
		c.Detail = "the API server reaches a pod through " + object + "; check the certificate and the configuration"
	case apierrors.IsForbidden(err):
		c.unread("get services/proxy -n "+ref.Namespace, err)
	case isTLS(text):
		c.Detail = "the API server reaches a pod through " + object + ": " + short(text)
	default:
		c.found(object, "the API server does not reach a pod: "+text, networkRemedies(text, d)...)
	}
}

// isTLS reports whether an error shows that a connection was established.
func isTLS(text string) bool {
	return strings.Contains(text, "tls: ") || strings.Contains(text, "x509: ")
}

// messageOf returns the message of a response of the API server, which is a Status if the API server itself has failed.
func messageOf(body []byte, err error) string {
	var status metav1.Status
	switch {
	case json.Unmarshal(body, &status) == nil && status.Message != "":
		return status.Message
	case len(body) > 0:
		return short(oneLine(string(body)))
	case err != nil:
		return err.Error()
	default:
		return "an empty response"
	}
}

// networkRemedies returns what to do about an error of a connection.
func networkRemedies(text string, d *diagnosis) []string {
	text = strings.ReplaceAll(text, "?timeout=", "?") // part of the URL, not of the error
	switch {
	case strings.Contains(text, "connection refused"):
		return []string{
			d.showPods() + " -o wide",
			"compare the targetPort of the Service with --webhook-port of the pods: kubectl -n " + d.namespace() + " describe service",
		}
	case strings.Contains(text, "no endpoints available"), strings.Contains(text, "no service endpoints"):
		return []string{d.showPods()}
	case isTLS(text):
		return []string{"see certificate"}
	case strings.Contains(text, "ddress is not allowed"): // EKS
		return []string{
			"run the pods in the network of the nodes, whose addresses the control plane reaches: the component host-network, or " +
				"hostNetwork in the values of the chart (docs/managed.md)",
		}
	case strings.Contains(text, "timeout"), strings.Contains(text, "deadline exceeded"), strings.Contains(text, "no route to host"):
		return []string{
			"allow the API server to reach TCP port " + d.flag("webhook-port", "9443") + " of the pods: in the firewall " +
				"between the control plane and the nodes, and in NetworkPolicies; or choose a port that is allowed (docs/managed.md)",
			"kubectl -n " + d.namespace() + " get networkpolicies",
		}
	default:
		return []string{d.showPods() + " -o wide"}
	}
}
