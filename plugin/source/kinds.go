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
		return Identity{Kind: k.gvk, Name: "*"}.String()
	}
	return k.resource.GroupResource().String()
}

func replicaSet() schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: "ReplicaSet"} }

// discover reads the kinds that the API server serves. The discovery cache of kubectl can be six hours old, and so lack the kinds of a
// new CustomResourceDefinition.
func (c *cluster) discover() error {
	if c.served != nil {
		return nil
	}
	client, err := c.getter.ToDiscoveryClient()
	if err != nil {
		return Advise(err, "")
	}
	client.Invalidate()
	_, lists, err := client.ServerGroupsAndResources()
	silent, isPartial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !isPartial {
		return Advise(err, "")
	}
	c.served, c.silent = kindsOf(lists), map[string]bool{}
	for version := range silent {
		c.silent[version.Group] = true
	}
	return nil
}

// kindsOf returns the kinds in an API server's lists of resources, sorted by name. The list of a group's preferred version comes first.
func kindsOf(lists []*metav1.APIResourceList) (all []resourceKind) {
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
	for _, kind := range kinds {
		if !kind.gvk.Empty() { // otherwise, there are only subresources
			all = append(all, *kind)
		}
	}
	slices.SortFunc(all, func(a, b resourceKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// kind returns a kind that the API server serves, nil if it does not serve it or, then with a gap, if that is unknown.
func (c *cluster) kind(of schema.GroupKind) (kind *resourceKind, gap string, err error) {
	if err := c.discover(); err != nil {
		return nil, "", err
	}
	if i := slices.IndexFunc(c.served, func(k resourceKind) bool { return k.gvk.GroupKind() == of }); i >= 0 {
		return &c.served[i], "", nil
	}
	if c.silent[of.Group] {
		gap = noResponse
	}
	return nil, gap, nil
}

// noResponse is why nothing is known about an aggregated API group.
const noResponse = "; its API server does not respond: see kubectl get apiservices"
