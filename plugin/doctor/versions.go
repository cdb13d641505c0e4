package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// minKubernetes is the first version with matchConditions in their stable form.
const minKubernetes = "1.30"

// checkAPIServer checks the version of the API server, and reads which resources it serves. The resources of an aggregated API whose
// server is unavailable are missing.
func (d *diagnosis) checkAPIServer(context.Context) {
	d.check.Detail = d.running.GitVersion
	var err error
	_, d.resources, err = d.discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		d.unread("discover the resources of the API server", err)
	}
	running, err := version.ParseGeneric(d.check.Detail)
	switch {
	case err != nil:
		d.check.gap("%v", err)
	case running.LessThan(version.MustParseGeneric(minKubernetes)):
		d.check.found("the API server", d.check.Detail+" is older than "+minKubernetes+", which handoff requires", "upgrade the cluster")
	}
}

// served returns the resources that the API server serves and is asked for, in each version, in the order of discovery.
func (d *diagnosis) served(wanted func(schema.GroupVersion, metav1.APIResource) bool) (found []schema.GroupVersionResource) {
	for _, list := range d.resources {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			if err == nil && wanted(gv, r) {
				found = append(found, gv.WithResource(r.Name))
			}
		}
	}
	return found
}

// versionsOf returns the versions in which the API server serves a resource.
func (d *diagnosis) versionsOf(resource schema.GroupResource) []schema.GroupVersionResource {
	return d.served(func(gv schema.GroupVersion, r metav1.APIResource) bool {
		return gv.WithResource(r.Name).GroupResource() == resource
	})
}

// checkVersions compares the versions of the pods, and that of the webhook with the plugin's.
func (d *diagnosis) checkVersions(context.Context) {
	var images []string
	for _, pod := range d.pods {
		for _, container := range pod.Spec.Containers {
			if pod.DeletionTimestamp == nil && container.Name == "webhook" && !slices.Contains(images, container.Image) {
				images = append(images, container.Image)
			}
		}
	}
	if len(images) > 1 {
		d.check.found(d.workload(), "its pods run different images: "+strings.Join(images, ", "),
			d.kubectl("rollout status deployment.apps/"+d.deployment.Name))
	}
	d.check.Detail = "plugin " + d.options.Version
	if d.version != "" {
		d.check.Detail += ", webhook " + d.version
	}
	plugin, pluginErr := version.ParseSemantic(d.options.Version)
	webhook, webhookErr := version.ParseSemantic(d.version)
	if pluginErr != nil || webhookErr != nil || plugin.Major() == webhook.Major() && plugin.Minor() == webhook.Minor() {
		return // one of them is no release, or both have the same minor version
	}
	remedy := "kubectl krew upgrade handoff"
	if webhook.LessThan(plugin) {
		remedy = fmt.Sprintf("upgrade the webhook to v%s: docs/install.md, upgrading", plugin)
	}
	d.check.found(d.workload(), fmt.Sprintf("the webhook is v%s and the plugin v%s: previews can differ from what the webhook does",
		webhook, plugin), remedy)
}

// sameRelease reports whether the webhook has the plugin's version, whose manifests the plugin contains.
func (d *diagnosis) sameRelease() bool { return d.version != "" && d.version == d.options.Version }
