package doctor

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// minKubernetes is the first version with matchConditions in their stable form.
const minKubernetes = "1.30"

// checkAPIServer checks the version of the API server, and reads which resources it serves. The resources of an aggregated API whose
// server is unavailable are missing.
func (d *diagnosis) checkAPIServer(context.Context) {
	var err error
	if d.served, err = source.Discover(d.discovery); err != nil {
		d.check.gap("%v", err)
	}
	var running *version.Version
	server, err := d.discovery.ServerVersion()
	if err == nil {
		d.check.Detail = server.GitVersion
		running, err = version.ParseGeneric(server.GitVersion)
	}
	switch {
	case err != nil:
		d.check.gap("%v", err)
	case running.LessThan(version.MustParseGeneric(minKubernetes)):
		d.check.found("the API server", d.check.Detail+" is older than "+minKubernetes+", which handoff requires", "upgrade the cluster")
	}
}

// checkVersions shows the versions of the plugin and of the webhook.
func (d *diagnosis) checkVersions(context.Context) {
	d.check.Detail = "plugin " + d.options.Version + ", webhook " + cmp.Or(d.version, "unknown")
}

// sameRelease reports whether the webhook has the plugin's version, whose manifests the plugin contains.
func (d *diagnosis) sameRelease() bool { return d.version != "" && d.version == d.options.Version }
