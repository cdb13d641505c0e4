package installation

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ownership-handoff/handoff/config"
)

// ServiceReference returns the Service that the entries name. It is nil if they have a URL, or there are none.
func (in *Installation) ServiceReference() *registration.ServiceReference {
	for _, entry := range in.Entries() {
		if entry.ClientConfig.Service != nil {
			return entry.ClientConfig.Service
		}
	}
	return nil
}

// Deployment reads the Deployment whose pods the Service selects. It is nil without an error if there is none.
func (in *Installation) Deployment(ctx context.Context) (*appsv1.Deployment, error) {
	ref := in.ServiceReference()
	if ref == nil {
		return nil, nil //nolint:nilnil // no Deployment and no error
	}
	service, err := Get[corev1.Service](ctx, in, corev1.SchemeGroupVersion.WithResource("services"), ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	all, err := List[appsv1.Deployment](ctx, in, appsv1.SchemeGroupVersion.WithResource("deployments"), ref.Namespace, "")
	for i := range all {
		if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(all[i].Spec.Template.Labels)) {
			return &all[i], err
		}
	}
	return nil, err
}

// container returns the webhook's container, an empty one if there is none: other clients can add containers in any order.
func container(of *appsv1.Deployment) (c corev1.Container) {
	if of != nil {
		for _, c := range of.Spec.Template.Spec.Containers {
			if c.Name == "webhook" {
				return c
			}
		}
	}
	return c
}

// Flag returns the value of a flag of the webhook, written as --name=value, as --name value, or as --name alone, or the default.
func Flag(of *appsv1.Deployment, name, byDefault string) (value string) {
	value = byDefault
	args := slices.Concat(container(of).Command, container(of).Args)
	for i, arg := range args {
		given, assigned := strings.CutPrefix(arg, "--"+name+"=")
		switch {
		case assigned:
			value = given
		case arg == "--"+name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			value = args[i+1]
		case arg == "--"+name:
			value = "true"
		}
	}
	return value
}

// ErrInvalid is the error about a configuration that is not valid. The pods use the last valid one, or the default if they have
// started with this one.
var ErrInvalid = errors.New("the configuration is not valid")

// Configuration returns the configuration with which the webhook runs: the file that the Deployment mounts. The error says which
// object cannot be read, or is ErrInvalid; the configuration is then the default.
func (in *Installation) Configuration(ctx context.Context) (config.HandoffConfiguration, error) {
	deployment, err := in.Deployment(ctx)
	if err == nil && deployment == nil {
		err = errors.New("no Deployment has the pods of the Service of handoff")
	}
	file := Flag(deployment, "config", "")
	if err != nil || file == "" {
		return config.Default(), err
	}
	name, key := mounted(deployment, file)
	if name == "" {
		return config.Default(), fmt.Errorf("no ConfigMap that is mounted without items and subPath contains the configuration %s", file)
	}
	found, err := Get[corev1.ConfigMap](ctx, in, corev1.SchemeGroupVersion.WithResource("configmaps"), deployment.Namespace, name)
	if err != nil {
		return config.Default(), err
	}
	text, ok := found.Data[key]
	if !ok {
		return config.Default(), fmt.Errorf("configmap/%s -n %s has no key %s", name, deployment.Namespace, key)
	}
	c, err := config.Parse([]byte(text))
	if err != nil {
		return config.Default(), fmt.Errorf("configmap/%s -n %s: %w: %w", name, deployment.Namespace, ErrInvalid, err)
	}
	return c, nil
}

// mounted returns the ConfigMap and the key of a file in the webhook's container, if the files of the volume have the names of the keys.
func mounted(in *appsv1.Deployment, file string) (name, key string) {
	for _, mount := range container(in).VolumeMounts {
		for _, volume := range in.Spec.Template.Spec.Volumes {
			whole := volume.ConfigMap != nil && volume.ConfigMap.Items == nil && mount.SubPath+mount.SubPathExpr == ""
			if volume.Name == mount.Name && whole && path.Clean(mount.MountPath) == path.Dir(file) {
				return volume.ConfigMap.Name, path.Base(file)
			}
		}
	}
	return "", ""
}

// Configured is Configuration for decisions in a namespace. Users who cannot read it learn from the webhook's answer to a dry run
// whether it is the default. A gap says if that is unknown although handoff is on.
func (in *Installation) Configured(ctx context.Context, namespace string) (c config.HandoffConfiguration, gaps []string) {
	c, unread := in.Configuration(ctx)
	if unread == nil || in.Missing() || in.OfFiles() {
		return c, nil
	}
	reply, err := in.Ask(ctx, namespace, true)
	if err == nil && reply.Answered && reply.Configuration != config.Default().Hash() {
		gaps = append(gaps, "the configuration of handoff is unknown, so the default applies; give it with --config, because "+unread.Error())
	}
	return c, gaps
}
