package doctor

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// minKubernetes is the first version with matchConditions in their stable form.
const minKubernetes = "1.30"

// checkAPIServer checks the version of the API server, and reads which resources it serves. The resources of an aggregated API whose
// server is unavailable are missing.
func (d *diagnosis) checkAPIServer(context.Context) {
	_, lists, err := d.in.Discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		d.check.gap("%v", err)
	}
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion) // the API server's own
		for _, r := range list.APIResources {
			r.Group, r.Version = gv.Group, gv.Version
			d.resources = append(d.resources, r)
		}
	}
	var running *version.Version
	server, err := d.in.Discovery.ServerVersion()
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

// versionsOf returns the versions in which the API server serves a resource, in the order of discovery.
func (d *diagnosis) versionsOf(resource schema.GroupResource) (versions []string) {
	for _, r := range d.resources {
		if r.Group == resource.Group && r.Name == resource.Resource {
			versions = append(versions, r.Version)
		}
	}
	return versions
}

// checkVersions shows the versions of the plugin and of the webhook.
func (d *diagnosis) checkVersions(context.Context) {
	d.check.Detail = "plugin " + d.options.Version + ", webhook " + cmp.Or(d.version, "unknown")
}

// sameRelease reports whether the webhook has the plugin's version, whose manifests the plugin contains.
func (d *diagnosis) sameRelease() bool { return d.version != "" && d.version == d.options.Version }
