package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// proxyTimeout limits the request through the API server, which itself waits up to 30 seconds for a connection.
const proxyTimeout = 12 * time.Second

// checkNetwork asks the API server for a page of the webhook through the Service. The API server takes the same way as for a review, but
// returns its error, and uses no connection from before a change of the Service or its endpoints, as it does for a review.
func (d *diagnosis) checkNetwork(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	port := int32(443) // as the API server sets it
	if d.service.Port != nil {
		port = *d.service.Port
	}
	path := fmt.Sprintf("/api/v1/namespaces/%s/services/https:%s:%d/proxy/mutate", d.namespace, d.service.Name, port)
	response := d.discovery.RESTClient().Get().AbsPath(path).Do(limited)
	body, _ := response.Raw()
	text, err := string(body), response.Error() // which has the message of the API server, unlike that of Raw
	if err != nil {
		text = err.Error()
	}
	service := d.named("service", d.service.Name)
	switch {
	case strings.Contains(string(body), protocol.MethodNotAllowed), isTLS(text):
		d.check.Detail = "the API server reaches a pod through " + service
	case source.IsPermission(err) && d.answered:
		d.check.Detail = "the dry run was answered"
	case source.IsPermission(err), ctx.Err() != nil:
		d.check.gap("%v", err)
	default:
		d.check.found(service, "the API server does not reach a pod: "+short(text), d.connect(text)...)
	}
}

// isTLS reports whether an error shows that a connection was established.
func isTLS(text string) bool { return containsAny(text, "tls: ", "x509: ") }

// connect returns what to do about an error of a connection.
func (d *diagnosis) connect(text string) []string {
	text = strings.ReplaceAll(text, "?timeout=", "?") // part of the URL, not of the error
	switch {
	case isTLS(text):
		return []string{"see certificate"}
	case containsAny(text, "not found", "no service port"): // kubectl would add a port with the same name
		return []string{"delete the Service, if it exists, and " + reinstall}
	case strings.Contains(text, "ddress is not allowed"): // EKS
		return []string{
			"run the pods in the network of the nodes, whose addresses the control plane reaches: the component host-network, or " +
				"hostNetwork in the values of the chart (docs/managed.md)",
		}
	case containsAny(text, "timeout", "deadline exceeded", "no route to host"):
		return []string{
			"allow the API server to reach TCP port " + installation.Flag(d.deployment, "webhook-port", "9443") + " of the pods: in the firewall " +
				"between the control plane and the nodes, and in NetworkPolicies; or choose a port that is allowed (docs/managed.md)",
			d.kubectl("get networkpolicies"),
		}
	default:
		return []string{
			d.kubectl("get pods -l "+d.selector) + " -o wide",
			"compare the targetPort of the Service with --webhook-port of the pods: " + d.kubectl("describe service"),
		}
	}
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
