package doctor

import "fmt"

const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
	chart            = "oci://ghcr.io/ownership-handoff/charts/handoff"
	// systemNamespace is the namespace in the manifests.
	systemNamespace = "handoff-system"
)

// reinstall returns the command that restores what the manifests contain.
func (d *diagnosis) reinstall() []string {
	if in := d.install.configuration; in != nil {
		if release := in.Annotations[releaseName]; release != "" {
			return []string{fmt.Sprintf("helm upgrade %s %s -n %s --reuse-values", release, chart, in.Annotations[releaseNamespace])}
		}
	}
	return []string{"run the command that installed handoff again: kubectl apply -k DIRECTORY, or helm upgrade"}
}

// namespace returns the namespace of the installation.
func (d *diagnosis) namespace() string {
	if d.install.service != nil {
		return d.install.service.Namespace
	}
	return systemNamespace
}

// logs returns the command that shows the logs of the pods.
func (d *diagnosis) logs() string {
	return fmt.Sprintf("kubectl -n %s logs -l %s --tail=20", d.namespace(), d.selector())
}

// showPods returns the command that lists the pods.
func (d *diagnosis) showPods() string {
	return fmt.Sprintf("kubectl -n %s get pods -l %s", d.namespace(), d.selector())
}

// selector returns the labels of the pods.
func (d *diagnosis) selector() string {
	if len(d.install.selector) > 0 {
		return d.install.selector.String()
	}
	return "app.kubernetes.io/name=handoff,app.kubernetes.io/component=webhook"
}
