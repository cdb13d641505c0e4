package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// minKubernetes is the first version with matchConditions in their stable form.
const minKubernetes = "1.30"

func (d *diagnosis) checkAPIServer(_ context.Context, c *Check) {
	info, err := d.discovery.ServerVersion()
	if err != nil {
		c.unread("get the version of the API server", err)
		return
	}
	c.Detail = info.GitVersion
	d.discover(c)
	running, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		c.gap("%s: %v", c.Name, err)
		return
	}
	if running.LessThan(version.MustParseGeneric(minKubernetes)) {
		c.found("the API server", info.GitVersion+" is older than "+minKubernetes+", which handoff requires", "upgrade the cluster")
	}
}

// checkVersions compares the versions of the pods, and that of the webhook with the plugin's.
func (d *diagnosis) checkVersions(_ context.Context, c *Check) {
	var images []string
	for i := range d.pods {
		if d.pods[i].DeletionTimestamp != nil {
			continue
		}
		for _, container := range d.pods[i].Spec.Containers {
			if container.Name == "webhook" && !slices.Contains(images, container.Image) {
				images = append(images, container.Image)
			}
		}
	}
	if len(images) > 1 {
		c.found(d.workload(), "its pods run different images: "+strings.Join(images, ", "),
			"kubectl -n "+d.namespace()+" rollout status "+strings.Split(d.workload(), " ")[0])
	}
	c.Detail = "plugin " + d.options.Version
	if d.version != "" {
		c.Detail += ", webhook " + d.version
	}
	if plugin, hook, ok := d.releases(); ok && (plugin.Major() != hook.Major() || plugin.Minor() != hook.Minor()) {
		remedy := "kubectl krew upgrade handoff"
		if hook.LessThan(plugin) {
			remedy = fmt.Sprintf("upgrade the webhook to v%s: docs/install.md, upgrading", plugin)
		}
		c.found(d.workload(), fmt.Sprintf("the webhook is v%s and the plugin v%s: previews can differ from what the webhook does",
			hook, plugin), remedy)
	}
}

// releases returns the versions of the plugin and the webhook, if both are releases.
func (d *diagnosis) releases() (plugin, hook *version.Version, ok bool) {
	plugin, pluginErr := version.ParseSemantic(d.options.Version)
	hook, hookErr := version.ParseSemantic(d.version)
	return plugin, hook, pluginErr == nil && hookErr == nil
}

// sameRelease reports whether the webhook has the plugin's version, whose manifests the plugin contains.
func (d *diagnosis) sameRelease() bool {
	return d.version != "" && d.version == d.options.Version
}
