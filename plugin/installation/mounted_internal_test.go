package installation

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestConfigurationIsReadOnlyFromAFileNamedAsItsKey(t *testing.T) {
	for sentence, c := range map[string]struct {
		mount corev1.VolumeMount
		items []corev1.KeyToPath
		want  string
	}{
		"the folder":          {mount: corev1.VolumeMount{MountPath: "/etc/handoff/"}, want: "configured config.yaml"},
		"another folder":      {mount: corev1.VolumeMount{MountPath: "/etc/hand"}},
		"the parent folder":   {mount: corev1.VolumeMount{MountPath: "/etc"}},
		"items that rename":   {mount: corev1.VolumeMount{MountPath: "/etc/handoff"}, items: []corev1.KeyToPath{{Key: "a", Path: "config.yaml"}}},
		"a subPath":           {mount: corev1.VolumeMount{MountPath: "/etc/handoff", SubPath: "a"}},
		"a subPath of a file": {mount: corev1.VolumeMount{MountPath: "/etc/handoff/config.yaml", SubPath: "a"}},
	} {
		d := &appsv1.Deployment{}
		c.mount.Name = "configuration"
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "webhook", VolumeMounts: []corev1.VolumeMount{c.mount}}}
		source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "configured"}, Items: c.items}
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "configuration", VolumeSource: corev1.VolumeSource{ConfigMap: source}}}
		name, key := mounted(d, "/etc/handoff/config.yaml")
		expect.Equal(t, sentence, c.want, strings.TrimSpace(name+" "+key))
	}
}
