package doctor

import (
	"fmt"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
	chart            = "oci://ghcr.io/ownership-handoff/charts/handoff"
	// systemNamespace is the namespace in the manifests.
	systemNamespace = "handoff-system"
)

// reinstall returns the command that restores what the manifests contain.
func (d *diagnosis) reinstall() []string {
	if in := d.configuration(); in != nil {
		if release := in.Annotations[releaseName]; release != "" {
			return []string{fmt.Sprintf("helm upgrade %s %s -n %s --reuse-values", release, chart, in.Annotations[releaseNamespace])}
		}
	}
	return []string{"run the command that installed handoff again: kubectl apply -k DIRECTORY, or helm upgrade"}
}

// workload names the Deployment, or else the configuration.
func (d *diagnosis) workload() string {
	if d.deployment != nil {
		return named("deployment.apps", d.deployment.Name, d.deployment.Namespace)
	}
	return d.object()
}

// flag returns the value of a flag of the webhook, or the default.
func (d *diagnosis) flag(name, byDefault string) string {
	if value, set := installation.Flag(d.deployment, name); set {
		return value
	}
	return byDefault
}

// selfSigned reports whether the webhook issues its own certificates.
func (d *diagnosis) selfSigned() bool { return d.flag("self-signed", "false") == "true" }

// namespace returns the namespace of the installation.
func (d *diagnosis) namespace() string {
	if d.in.ServiceReference() != nil {
		return d.in.ServiceReference().Namespace
	}
	return systemNamespace
}

// logs returns the command that shows the logs of the pods.
func (d *diagnosis) logs() string {
	return fmt.Sprintf("kubectl -n %s logs -l %s --tail=20", d.namespace(), d.podLabels())
}

// showPods returns the command that lists the pods.
func (d *diagnosis) showPods() string {
	return fmt.Sprintf("kubectl -n %s get pods -l %s", d.namespace(), d.podLabels())
}

// podLabels returns the labels of the pods.
func (d *diagnosis) podLabels() string {
	if len(d.selector) > 0 {
		return d.selector.String()
	}
	return "app.kubernetes.io/name=handoff,app.kubernetes.io/component=webhook"
}
