package installation

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ownership-handoff/handoff/config"
)

// workload are the Service and the Deployment, read once.
type workload struct {
	read       bool
	service    *corev1.Service
	deployment *appsv1.Deployment
	err        error
}

// ServiceReference returns the Service that the entries name. It is nil if they have a URL, or there are none.
func (in *Installation) ServiceReference() *admissionregistrationv1.ServiceReference {
	for _, entry := range in.Entries() {
		if entry.ClientConfig.Service != nil {
			return entry.ClientConfig.Service
		}
	}
	return nil
}

// Deployment reads the Deployment behind the Service. It is nil without an error if there is none.
func (in *Installation) Deployment(ctx context.Context) (*appsv1.Deployment, error) {
	w, ref := &in.workload, in.ServiceReference()
	if w.read || ref == nil {
		return w.deployment, w.err
	}
	w.read = true
	selector := labels.SelectorFromSet(DefaultSelector())
	if service, err := in.Service(ctx); err == nil {
		selector = labels.SelectorFromSet(service.Spec.Selector)
	}
	all, err := List[appsv1.Deployment](ctx, in.objects, appsv1.SchemeGroupVersion.WithResource("deployments"), ref.Namespace,
		metav1.ListOptions{})
	w.err = err
	for i := range all {
		if selector.Matches(labels.Set(all[i].Spec.Template.Labels)) {
			w.deployment = &all[i]
			break
		}
	}
	return w.deployment, w.err
}

// Service reads the Service that the entries name.
func (in *Installation) Service(ctx context.Context) (*corev1.Service, error) {
	ref := in.ServiceReference()
	if in.workload.service != nil {
		return in.workload.service, nil
	}
	service, err := Get[corev1.Service](ctx, in.objects, corev1.SchemeGroupVersion.WithResource("services"), ref.Namespace, ref.Name)
	in.workload.service = service
	return service, err
}

// DefaultSelector returns the labels of the pods in the manifests.
func DefaultSelector() labels.Set {
	return labels.Set{"app.kubernetes.io/name": "handoff", "app.kubernetes.io/component": "webhook"}
}

// Container returns the webhook's container, or nil: other clients can add containers in any order.
func Container(of *appsv1.Deployment) *corev1.Container {
	if of == nil {
		return nil
	}
	containers := of.Spec.Template.Spec.Containers
	at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "webhook" })
	if at < 0 {
		return nil
	}
	return &containers[at]
}

// Flag returns the value of a flag of the webhook, written as --name=value, as --name value, or as --name alone.
func Flag(of *appsv1.Deployment, name string) (value string, set bool) {
	container := Container(of)
	if container == nil {
		return "", false
	}
	args := slices.Concat(container.Command, container.Args)
	for i, arg := range args {
		given, assigned := strings.CutPrefix(arg, "--"+name+"=")
		switch {
		case assigned:
			value, set = given, true
		case arg == "--"+name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			value, set = args[i+1], true
		case arg == "--"+name:
			value, set = "true", true
		}
	}
	return value, set
}

// Configuration returns the configuration with which the webhook runs: the file that the Deployment mounts. The error says which
// object cannot be read; the configuration is then the default.
func (in *Installation) Configuration(ctx context.Context) (config.HandoffConfiguration, error) {
	deployment, err := in.Deployment(ctx)
	if err != nil || deployment == nil {
		return config.Default(), err
	}
	file, set := Flag(deployment, "config")
	if !set {
		return config.Default(), nil
	}
	name, key := mounted(deployment, file)
	if name == "" {
		return config.Default(), fmt.Errorf("the configuration %s of deployment.apps/%s is in no ConfigMap", file, deployment.Name)
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	found, err := Get[corev1.ConfigMap](ctx, in.objects, resource, deployment.Namespace, name)
	if err != nil {
		return config.Default(), err
	}
	text, ok := found.Data[key]
	if !ok {
		return config.Default(), fmt.Errorf("configmap/%s -n %s has no key %s", name, deployment.Namespace, key)
	}
	c, err := config.Parse([]byte(text))
	if err != nil {
		return config.Default(), fmt.Errorf("configmap/%s -n %s: %w", name, deployment.Namespace, err)
	}
	return c, nil
}

// mounted returns the ConfigMap and the key of a file in the webhook's container.
func mounted(in *appsv1.Deployment, file string) (name, key string) {
	for _, mount := range Container(in).VolumeMounts {
		inside, ok := strings.CutPrefix(path.Clean(file), path.Clean(mount.MountPath))
		if !ok {
			continue
		}
		for _, volume := range in.Spec.Template.Spec.Volumes {
			if volume.Name != mount.Name || volume.ConfigMap == nil {
				continue
			}
			key = strings.TrimPrefix(path.Join(mount.SubPath, inside), "/")
			for _, item := range volume.ConfigMap.Items {
				if item.Path == key {
					key = item.Key
					break
				}
			}
			return volume.ConfigMap.Name, key
		}
	}
	return "", ""
}

// Configured is Configuration for decisions in a namespace. Users who cannot read it learn from the webhook's answer to a dry run
// whether it is the default. The gap says if that is unknown although handoff is on.
func (in *Installation) Configured(ctx context.Context, namespace string) (c config.HandoffConfiguration, gap string) {
	c, err := in.Configuration(ctx)
	installed := in.Unread != nil || len(in.Configurations) > 0
	if !installed || err == nil && in.workload.deployment != nil || in.config == nil {
		return c, ""
	}
	reply, askErr := in.Ask(ctx, namespace, true)
	switch {
	case askErr != nil, !reply.Answered, reply.Configuration == config.Default().Hash():
		return c, ""
	default:
		return c, "the configuration of handoff is unknown, so the default applies here; give it with --config, or ask for " +
			"permission to get the Deployment of handoff and its ConfigMap"
	}
}
