package doctor

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// served are the resources that the API server serves, with their subresources.
type served struct {
	known bool
	// versions are those of each resource, in the order of discovery.
	versions  map[schema.GroupResource][]string
	resources map[schema.GroupKind]string
	// scalable are the namespaced resources with a scale subresource, in the order of discovery.
	scalable []schema.GroupResource
}

// discover lists the resources. The kinds of an aggregated API whose server is unavailable are missing.
func (d *diagnosis) discover(c *Check) {
	_, lists, err := d.discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		c.unread("discover the resources of the API server", err)
		return
	}
	s := served{known: true, versions: map[schema.GroupResource][]string{}, resources: map[schema.GroupKind]string{}}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			resource := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			s.versions[resource] = append(s.versions[resource], gv.Version)
			name, isScale := strings.CutSuffix(r.Name, "/scale")
			scaled := schema.GroupResource{Group: gv.Group, Resource: name}
			if isScale && r.Namespaced && !slices.Contains(s.scalable, scaled) {
				s.scalable = append(s.scalable, scaled)
			}
			if !strings.Contains(r.Name, "/") {
				s.resources[schema.GroupKind{Group: gv.Group, Kind: r.Kind}] = r.Name
			}
		}
	}
	d.served = s
}
