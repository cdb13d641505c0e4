package installation

import corev1 "k8s.io/api/core/v1"

// SetNamespace sets a namespace whose label need not follow its annotation.
func (in *Installation) SetNamespace(o *corev1.Namespace) {
	in.read[request{resource: namespaces, name: o.Name}] = response{content: o}
}
