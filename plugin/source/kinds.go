package source

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
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
		return nameOf(k.gvk, "*")
	}
	return k.resource.GroupResource().String()
}

// in returns a namespace, or none for a cluster-scoped kind.
func (k resourceKind) in(namespace string) string {
	if !k.namespaced {
		return ""
	}
	return namespace
}

// servedKinds are all kinds of an API server, each in its preferred version, sorted by name.
type servedKinds struct {
	kinds []resourceKind
	// unknown are the groups without discovery information, because their aggregated API server is down.
	unknown map[string]bool
}

// newServedKinds requests the kinds from the API server. The discovery cache of kubectl can be six hours old, and so lack the
// kinds of a new CustomResourceDefinition.
func newServedKinds(getter genericclioptions.RESTClientGetter) (served servedKinds, err error) {
	client, err := getter.ToDiscoveryClient()
	if err != nil {
		return served, err
	}
	client.Invalidate()
	groups, lists, err := client.ServerGroupsAndResources()
	served.unknown = map[string]bool{}
	if failed, ok := discovery.GroupDiscoveryFailedErrorGroups(err); ok {
		for gv := range failed {
			served.unknown[gv.Group] = true
		}
		err = nil
	}
	if err != nil {
		return served, err
	}
	byVersion := map[string]*metav1.APIResourceList{}
	for _, list := range lists {
		byVersion[list.GroupVersion] = list
	}
	for _, group := range groups {
		for _, version := range group.Versions { // the preferred one first
			if list := byVersion[version.GroupVersion]; list != nil {
				served.add(list)
			}
		}
	}
	slices.SortFunc(served.kinds, func(a, b resourceKind) int { return strings.Compare(a.String(), b.String()) })
	return served, nil
}

// add adds the kinds of a group version that no earlier version serves. A kind is scalable if any version of it is.
func (s *servedKinds) add(list *metav1.APIResourceList) {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return
	}
	scales := map[string]bool{}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if name, ok := strings.CutSuffix(r.Name, "/scale"); ok {
			scales[name] = true
		}
		kind := resourceKind{
			gvk: gv.WithKind(r.Kind), resource: gv.WithResource(r.Name), namespaced: r.Namespaced, list: slices.Contains(r.Verbs, "list"),
		}
		same := func(k resourceKind) bool { return k.String() == kind.String() }
		if !strings.Contains(r.Name, "/") && !slices.ContainsFunc(s.kinds, same) {
			s.kinds = append(s.kinds, kind)
		}
	}
	for i := range s.kinds {
		k := &s.kinds[i]
		k.scales = k.scales || k.gvk.Group == gv.Group && scales[k.resource.Resource]
	}
}

func (s *servedKinds) of(kind schema.GroupKind) (resourceKind, bool) {
	i := slices.IndexFunc(s.kinds, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
	if i < 0 {
		return resourceKind{}, false
	}
	return s.kinds[i], true
}

func isReplicaSet(k schema.GroupKind) bool {
	return k == schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
}

// chosen returns the kinds of the given types, or else all with a scale subresource except ReplicaSets.
func (s *servedKinds) chosen(getter genericclioptions.RESTClientGetter, types []string) (kinds []resourceKind, err error) {
	if len(types) == 0 {
		for _, k := range s.kinds {
			if k.scales && k.list && !isReplicaSet(k.gvk.GroupKind()) {
				kinds = append(kinds, k)
			}
		}
		return kinds, nil
	}
	for _, word := range types {
		mapping, err := resource.NewBuilder(getter).Unstructured().ResourceTypes(word).SelectAllParam(true).Do().ResourceMapping()
		if err != nil {
			return nil, err
		}
		kind, ok := s.of(mapping.GroupVersionKind.GroupKind())
		if !ok || !kind.list {
			return nil, fmt.Errorf("%s cannot be listed; use other types", word)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}
