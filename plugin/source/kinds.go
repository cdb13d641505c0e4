package source

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
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
	_, lists, err := client.ServerGroupsAndResources()
	silent, isPartial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !isPartial {
		return nil, Advise(err, "")
	}
	c.served = kindsOf(lists)
	for version := range silent {
		c.served.silent[version.Group] = true
	}
	return c.served, nil
}

// kindsOf returns the kinds of an API server's lists of resources. Those of a group's preferred version come first.
func kindsOf(lists []*metav1.APIResourceList) *servedKinds {
	kinds := map[schema.GroupResource]*resourceKind{}
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion) // as discovery has
		for i := range list.APIResources {
			r := &list.APIResources[i]
			name, subresource, _ := strings.Cut(r.Name, "/")
			resource := schema.GroupResource{Group: gv.Group, Resource: name}
			kind := kinds[resource]
			if kind == nil {
				kind = &resourceKind{}
				kinds[resource] = kind
			}
			switch {
			case subresource == "scale": // of any version
				kind.scales = true
			case subresource == "" && kind.gvk.Empty():
				kind.gvk, kind.resource = gv.WithKind(r.Kind), gv.WithResource(name)
				kind.namespaced, kind.list = r.Namespaced, slices.Contains(r.Verbs, "list")
			}
		}
	}
	s := &servedKinds{silent: map[string]bool{}}
	for _, kind := range kinds {
		if !kind.gvk.Empty() { // otherwise, there are only subresources
			s.all = append(s.all, *kind)
		}
	}
	slices.SortFunc(s.all, func(a, b resourceKind) int { return strings.Compare(a.String(), b.String()) })
	return s
}

// kind returns a kind that the API server serves, nil if it does not serve it or, then with a gap, if that is unknown.
func (c *cluster) kind(of schema.GroupKind) (kind *resourceKind, gap string, err error) {
	kinds, err := c.kinds()
	if err != nil {
		return nil, "", err
	}
	if i := slices.IndexFunc(kinds.all, func(k resourceKind) bool { return k.gvk.GroupKind() == of }); i >= 0 {
		return &kinds.all[i], "", nil
	}
	if kinds.silent[of.Group] {
		gap = noResponse
	}
	return nil, gap, nil
}

// noResponse is why nothing is known about an aggregated API group.
const noResponse = "; its API server does not respond: see kubectl get apiservices"
