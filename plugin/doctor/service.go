package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ownership-handoff/handoff/internal/protocol"
)

// service names the Service in the configuration, and port returns its port there. The API server sets the default.
func (d *diagnosis) service() string {
	ref := d.in.ServiceReference()
	return named("service", ref.Name, ref.Namespace)
}

func (d *diagnosis) port() int32 {
	if port := d.in.ServiceReference().Port; port != nil {
		return *port
	}
	return 443
}

// checkService checks that the Service in the configuration exists, has the port, and has ready endpoints on it.
func (d *diagnosis) checkService(ctx context.Context) {
	ref := d.in.ServiceReference()
	service, absent := get[corev1.Service](ctx, d, ref.Namespace, ref.Name)
	if absent {
		d.check.found(d.service(), "not found: "+d.object()+" names it, so no call reaches a pod", d.reinstall())
	}
	if service == nil {
		return
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == d.port() })
	if at < 0 {
		d.check.found(d.service(), fmt.Sprintf("has no port %d, which %s names", d.port(), d.object()), d.setPort(service))
		return
	}
	port := service.Spec.Ports[at]
	all, ok := list[discoveryv1.EndpointSlice](ctx, d, ref.Namespace, discoveryv1.LabelServiceName+"="+ref.Name)
	if !ok {
		return
	}
	ready, notReady := endpointsOf(all, port.Name)
	target := port.TargetPort.String()
	d.check.Detail = fmt.Sprintf("%s, port %d to %s of %d ready endpoints", d.service(), port.Port, target, ready)
	switch {
	case ready > 0:
	case notReady > 0:
		d.check.found(d.service(), fmt.Sprintf("none of its %d endpoints is ready, so the API server reaches no pod", notReady), d.ofPods("get pods"))
	default:
		d.check.found(d.service(), fmt.Sprintf("has no endpoints on port %s: no pod has its labels, or no container its port", target),
			d.ofPods("get pods"), "compare the labels with the selector: "+d.kubectl("get service "+service.Name+" -o wide"))
	}
}

// setPort returns the command that sets the port. Applying the Service again fails: kubectl would add a port with the same name.
func (d *diagnosis) setPort(service *corev1.Service) string {
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "webhook" })
	if at < 0 {
		return d.reinstall()
	}
	return d.kubectl(fmt.Sprintf(`patch service %s --type=json -p '[{"op":"replace","path":"/spec/ports/%d/port","value":%d}]'`,
		service.Name, at, d.port()))
}

// endpointsOf returns the number of addresses that are ready on a port, and of those that are not.
func endpointsOf(all []discoveryv1.EndpointSlice, port string) (ready, notReady int) {
	for _, slice := range all {
		if !slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return textOf(p.Name) == port }) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				ready += len(endpoint.Addresses)
			} else {
				notReady += len(endpoint.Addresses)
			}
		}
	}
	return ready, notReady
}

// manyRestarts is the number of restarts of a container from which they are a problem, unless the last one was long ago: the count
// is that of the pod's whole life.
const (
	manyRestarts = 3
	longAgo      = 24 * time.Hour
)

func (d *diagnosis) checkPods(ctx context.Context) {
	switch {
	case d.deployment == nil && d.deploymentErr != nil:
		d.unread("list deployments.apps -n "+d.namespace(), d.deploymentErr)
		return
	case d.deployment == nil:
		d.check.found("deployment.apps/handoff-webhook -n "+d.namespace(), "not found: no Deployment has pods with the labels "+
			d.in.Selector.String(), d.reinstall())
		return
	}
	desired, describe := int32(1), d.kubectl("describe replicaset -l "+d.in.Selector.String())
	if d.deployment.Spec.Replicas != nil {
		desired = *d.deployment.Spec.Replicas
	}
	if desired == 0 {
		d.check.found(d.workload(), "is scaled to 0: applies behave as without handoff",
			d.kubectl("scale deployment "+d.deployment.Name+" --replicas=2"))
	}
	for _, condition := range d.deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			d.check.found(d.workload(), "its pods cannot be created: "+condition.Message, describe)
		}
	}
	var ok bool
	if d.pods, ok = list[corev1.Pod](ctx, d, d.namespace(), d.in.Selector.String()); !ok {
		return
	}
	ready := 0
	for _, pod := range d.pods {
		if pod.DeletionTimestamp == nil && d.checkPod(pod) {
			ready++
		}
	}
	d.check.Detail = fmt.Sprintf("%s, %d of %d pods ready", d.workload(), ready, desired)
	if len(d.pods) == 0 && desired > 0 {
		d.check.found(d.workload(), "has no pods", describe)
	}
}

// checkPod reports whether a pod is ready. If not, it finds why, as far as its status shows, and restarts in any case.
func (d *diagnosis) checkPod(pod corev1.Pod) (ready bool) {
	object, logs := named("pod", pod.Name, pod.Namespace), d.kubectl("logs "+pod.Name)
	var reasons []string
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			reasons = append(reasons, strings.TrimSpace(waiting.Reason+" "+waiting.Message))
		}
		last := status.LastTerminationState.Terminated
		past := last != nil && !last.FinishedAt.IsZero() && last.FinishedAt.Add(longAgo).Before(d.options.Now)
		if status.RestartCount < manyRestarts || past {
			continue
		}
		problem, remedy := fmt.Sprintf("container %s has restarted %d times", status.Name, status.RestartCount), logs+" --previous --tail=20"
		if last != nil {
			problem += fmt.Sprintf(", last: %s, exit code %d", last.Reason, last.ExitCode)
		}
		if last != nil && last.Reason == "OOMKilled" {
			remedy = "raise the memory limit of the Deployment: docs/operations.md, sizing"
		}
		d.check.found(object, problem, remedy)
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue:
			return true
		case condition.Status != corev1.ConditionTrue && condition.Message != "" && condition.Type != corev1.ContainersReady:
			reasons = append(reasons, condition.Message)
		}
	}
	d.check.found(object, strings.TrimSuffix("is not ready: "+strings.Join(reasons, "; "), ": "),
		d.kubectl("describe pod "+pod.Name), logs+" --tail=20")
	return false
}

// proxyTimeout limits the request through the API server, which itself waits up to 30 seconds for a connection.
const proxyTimeout = 12 * time.Second

// checkNetwork asks the API server for a page of the webhook through the Service, if a dry run was not answered: the API server
// takes the same way as for a review, but returns its error.
func (d *diagnosis) checkNetwork(ctx context.Context) {
	switch {
	case d.answered && !d.silent:
		d.check.Detail = "the dry run was answered"
		return
	case !d.silent:
		d.check.skip("there was no dry run")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	ref := d.in.ServiceReference()
	path := fmt.Sprintf("/api/v1/namespaces/%s/services/https:%s:%d/proxy/mutate", ref.Namespace, ref.Name, d.port())
	response := d.discovery.RESTClient().Get().AbsPath(path).Do(ctx)
	body, _ := response.Raw()
	text := oneLine(string(body))
	err := response.Error()
	if err != nil {
		text = err.Error()
	}
	switch {
	case strings.Contains(string(body), protocol.MethodNotAllowed):
		d.check.Detail = "the API server reaches a pod through " + d.service() + "; check the certificate and the configuration"
	case apierrors.IsForbidden(err):
		d.unread("get services/proxy -n "+ref.Namespace, err)
	case isTLS(text):
		d.check.Detail = "the API server reaches a pod through " + d.service() + ": " + short(text)
	default:
		d.check.found(d.service(), "the API server does not reach a pod: "+short(text), d.networkRemedies(text)...)
	}
}

// isTLS reports whether an error shows that a connection was established.
func isTLS(text string) bool { return containsAny(text, "tls: ", "x509: ") }

// networkRemedies returns what to do about an error of a connection.
func (d *diagnosis) networkRemedies(text string) []string {
	text = strings.ReplaceAll(text, "?timeout=", "?") // part of the URL, not of the error
	switch {
	case strings.Contains(text, "connection refused"):
		return []string{
			d.ofPods("get pods") + " -o wide",
			"compare the targetPort of the Service with --webhook-port of the pods: " + d.kubectl("describe service"),
		}
	case containsAny(text, "no endpoints available", "no service endpoints"):
		return []string{d.ofPods("get pods")}
	case isTLS(text):
		return []string{"see certificate"}
	case strings.Contains(text, "ddress is not allowed"): // EKS
		return []string{
			"run the pods in the network of the nodes, whose addresses the control plane reaches: the component host-network, or " +
				"hostNetwork in the values of the chart (docs/managed.md)",
		}
	case containsAny(text, "timeout", "deadline exceeded", "no route to host"):
		return []string{
			"allow the API server to reach TCP port " + d.flag("webhook-port", "9443") + " of the pods: in the firewall " +
				"between the control plane and the nodes, and in NetworkPolicies; or choose a port that is allowed (docs/managed.md)",
			d.kubectl("get networkpolicies"),
		}
	default:
		return []string{d.ofPods("get pods") + " -o wide"}
	}
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
