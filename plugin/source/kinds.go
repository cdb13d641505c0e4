package source

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// resourceKind is a kind that an API server serves, or of which there are files; the latter have no resource.
type resourceKind struct {
	gvk                      schema.GroupVersionKind
	resource                 schema.GroupVersionResource
	namespaced, scales, list bool
}

// String returns the name of the resource as kubectl prints it, such as deployments.apps, or that of the kind for files.
func (k resourceKind) String() string {
	if k.resource.Empty() {
		return nameOf(k.gvk.GroupKind(), "*")
	}
	return k.resource.GroupResource().String()
}

func replicaSet() schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: "ReplicaSet"} }

// servedKinds are all kinds of an API server, each in its preferred version, sorted by name.
type servedKinds struct {
	all []resourceKind
	// silent are the groups without discovery information, because their aggregated API server is down.
	silent map[string]bool
}

// kinds returns the kinds that the API server serves. The discovery cache of kubectl can be six hours old, and so lack the kinds of
// a new CustomResourceDefinition.
func (c *cluster) kinds() (*servedKinds, error) {
	if c.served != nil {
		return c.served, nil
	}
	client, err := c.getter.ToDiscoveryClient()
	if err != nil {
		return nil, Advise(err, "")
	}
	client.Invalidate()
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, Advise(err, "")
	}
	c.served = kindsOf(groups)
	return c.served, nil
}

func kindsOf(groups []*restmapper.APIGroupResources) *servedKinds {
	s := &servedKinds{silent: map[string]bool{}}
	for _, group := range groups {
		kinds := map[string]*resourceKind{} // by the name of their resource
		for _, version := range group.Group.Versions {
			gv := schema.GroupVersion{Group: group.Group.Name, Version: version.Version}
			resources, known := group.VersionedResources[version.Version]
			if !known {
				s.silent[gv.Group] = true
			}
			for i := range resources {
				r := &resources[i]
				name, subresource, _ := strings.Cut(r.Name, "/")
				kind := kinds[name]
				if kind == nil {
					kind = &resourceKind{}
					kinds[name] = kind
				}
				switch {
				case subresource == "scale": // of any version
					kind.scales = true
				case subresource == "" && kind.gvk.Empty(): // the preferred version comes first
					kind.gvk, kind.resource = gv.WithKind(r.Kind), gv.WithResource(name)
					kind.namespaced, kind.list = r.Namespaced, slices.Contains(r.Verbs, "list")
				}
			}
		}
		for _, kind := range kinds {
			if !kind.gvk.Empty() { // otherwise, there are only subresources
				s.all = append(s.all, *kind)
			}
		}
	}
	slices.SortFunc(s.all, func(a, b resourceKind) int { return strings.Compare(a.String(), b.String()) })
	return s
}

func (s *servedKinds) of(kind schema.GroupKind) (resourceKind, bool) {
	i := slices.IndexFunc(s.all, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
	if i < 0 {
		return resourceKind{}, false
	}
	return s.all[i], true
}
