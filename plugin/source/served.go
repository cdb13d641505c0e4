package source

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Served is what an API server serves.
type Served struct {
	// Resources are sorted by name.
	Resources []*Resource
	// Silent are the groups of which nothing is known, because their aggregated API server is down.
	Silent map[string]bool
}

// Resource is a resource that an API server serves, in the preferred version, or of which there are objects in files.
type Resource struct {
	Kind schema.GroupVersionKind
	Name schema.GroupVersionResource
	// Versions are all in which it is served.
	Versions []string
	// Scales reports whether it has a scale subresource, in any version, and Lists whether it can be listed.
	Namespaced, Scales, Lists bool
}

// String returns the name of the resource as kubectl prints it, such as deployments.apps.
func (r *Resource) String() string { return r.Name.GroupResource().String() }

// Discover reads what the API server serves. The client can return the lists of resources in any order.
func Discover(client discovery.DiscoveryInterface) (Served, error) {
	served := Served{Silent: map[string]bool{}}
	groups, lists, err := client.ServerGroupsAndResources()
	silent, isPartial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !isPartial {
		return served, err
	}
	for version := range silent {
		served.Silent[version.Group] = true
	}
	resources := map[string][]metav1.APIResource{}
	for _, list := range lists {
		resources[list.GroupVersion] = list.APIResources
	}
	for _, group := range groups {
		found := map[string]*Resource{}
		for _, version := range group.Versions { // the preferred one comes first
			for _, r := range resources[version.GroupVersion] {
				name, subresource, _ := strings.Cut(r.Name, "/")
				switch resource := found[name]; {
				case resource == nil && subresource == "": // comes before its subresources
					gv := schema.GroupVersion{Group: group.Name, Version: version.Version}
					found[name] = &Resource{
						Kind: gv.WithKind(r.Kind), Name: gv.WithResource(name), Versions: []string{version.Version},
						Namespaced: r.Namespaced, Lists: slices.Contains(r.Verbs, "list"),
					}
					served.Resources = append(served.Resources, found[name])
				case subresource == "":
					resource.Versions = append(resource.Versions, version.Version)
				case resource != nil && subresource == "scale":
					resource.Scales = true
				}
			}
		}
	}
	slices.SortFunc(served.Resources, func(a, b *Resource) int { return strings.Compare(a.String(), b.String()) })
	return served, nil
}

// Of returns the resource of a kind, nil if there is none or, if its group is silent, it is not known.
func (s Served) Of(kind schema.GroupKind) *Resource {
	for _, r := range s.Resources {
		if r.Kind.GroupKind() == kind {
			return r
		}
	}
	return nil
}

var (
	hpaKind    = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	crdKind    = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	replicaSet = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
)

// noResponse is why nothing is known about a silent group.
const noResponse = "; its API server does not respond: see kubectl get apiservices"
