package doctor

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// served are the resources that the API server serves, with their subresources.
type served struct {
	known bool
	// versions are those of each resource, in the order of discovery.
	versions map[schema.GroupResource][]string
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
	s := served{known: true, versions: map[schema.GroupResource][]string{}}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			resource := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			s.versions[resource] = append(s.versions[resource], gv.Version)
			parent, isScale := cutSuffix(resource, "/scale")
			if isScale && r.Namespaced && !slices.Contains(s.scalable, parent) {
				s.scalable = append(s.scalable, parent)
			}
		}
	}
	d.served = s
}

// serves reports whether the API server serves a resource. It is false if discovery has failed.
func (s served) serves(resource schema.GroupResource) bool { return len(s.versions[resource]) > 0 }

func cutSuffix(r schema.GroupResource, suffix string) (schema.GroupResource, bool) {
	n := len(r.Resource) - len(suffix)
	if n <= 0 || r.Resource[n:] != suffix {
		return r, false
	}
	return schema.GroupResource{Group: r.Group, Resource: r.Resource[:n]}, true
}
