package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

// defaultPort is the port of a Service in a webhook configuration that names none.
const defaultPort = 443

// checkService checks that the Service in the configuration exists, has the port, and has ready endpoints.
func (d *diagnosis) checkService(ctx context.Context, c *Check) {
	ref := d.in.ServiceReference()
	if d.port = defaultPort; ref.Port != nil {
		d.port = *ref.Port
	}
	object := named("service", ref.Name, ref.Namespace)
	service, err := d.in.Service(ctx)
	switch {
	case isAbsent(err):
		c.found(object, "not found: "+d.object()+" names it, so no call reaches a pod", d.reinstall()...)
		return
	case err != nil:
		c.unread("get "+object, err)
		return
	}
	d.selector = service.Spec.Selector
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == d.port })
	if at < 0 {
		c.found(object, fmt.Sprintf("has no port %d, which %s names", d.port, d.object()), d.setPort(service))
		return
	}
	d.checkEndpoints(ctx, c, object, service.Spec.Ports[at])
}

// setPort returns the command that sets the port. Applying the Service again fails: kubectl would add a port with the same name.
func (d *diagnosis) setPort(service *corev1.Service) string {
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "webhook" })
	if at < 0 {
		return "kubectl -n " + service.Namespace + " delete service " + service.Name + ", then " + d.reinstall()[0]
	}
	return fmt.Sprintf(`kubectl -n %s patch service %s --type=json -p '[{"op":"replace","path":"/spec/ports/%d/port","value":%d}]'`,
		service.Namespace, service.Name, at, d.port)
}

// checkEndpoints checks that the Service has ready endpoints on a port.
func (d *diagnosis) checkEndpoints(ctx context.Context, c *Check, object string, port corev1.ServicePort) {
	ref := d.in.ServiceReference()
	resource := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	slicesOf, err := installation.List[discoveryv1.EndpointSlice](ctx, d.objects, resource, ref.Namespace, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + ref.Name})
	if err != nil {
		c.unread("list endpointslices.discovery.k8s.io -n "+ref.Namespace, err)
		return
	}
	ready, notReady := 0, 0
	for i := range slicesOf {
		hasPort := func(p discoveryv1.EndpointPort) bool {
			return p.Name == nil && port.Name == "" || p.Name != nil && *p.Name == port.Name
		}
		if !slices.ContainsFunc(slicesOf[i].Ports, hasPort) {
			continue
		}
		for _, endpoint := range slicesOf[i].Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				ready += len(endpoint.Addresses)
			} else {
				notReady += len(endpoint.Addresses)
			}
		}
	}
	c.Detail = fmt.Sprintf("%s, port %d to %s of %d ready endpoints", object, port.Port, targetPort(port), ready)
	switch {
	case ready > 0:
	case notReady > 0:
		c.found(object, fmt.Sprintf("none of its %d endpoints is ready, so the API server reaches no pod", notReady), d.showPods())
	default:
		c.found(object, fmt.Sprintf("has no endpoints on port %s: no pod has its labels, or no container its port", targetPort(port)),
			d.showPods(), "compare the labels with the selector: kubectl -n "+ref.Namespace+" get service "+ref.Name+" -o wide")
	}
}

func targetPort(port corev1.ServicePort) string {
	if port.TargetPort == (intstr.IntOrString{}) {
		return strconv.Itoa(int(port.Port))
	}
	return port.TargetPort.String()
}
