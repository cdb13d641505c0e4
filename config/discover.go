package config

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// UnknownKinds returns a sentence for each kind that rules name and the API server does not serve: such a rule is never
// used. A kind can be installed later, so that is no error. What an API group serves whose own API server is down is not
// known.
func (c HandoffConfiguration) UnknownKinds(client discovery.ServerResourcesInterface) ([]string, error) {
	named := c.Kinds()
	if len(named) == 0 {
		return nil, nil
	}
	_, lists, err := client.ServerGroupsAndResources()
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, fmt.Errorf("reading the kinds that the API server serves: %w", err)
	}
	served := map[schema.GroupKind]bool{}
	byName := map[string]schema.GroupKind{} // of types, as people write them
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			kind := schema.GroupKind{Group: gv.Group, Kind: resource.Kind}
			if strings.Contains(resource.Name, "/") {
				continue
			}
			served[kind], served[schema.GroupKind{Group: "*", Kind: resource.Kind}] = true, true
			byName[strings.ToLower(resource.Name)] = kind
		}
	}
	for gv := range failed {
		byName["group "+gv.Group] = schema.GroupKind{Group: gv.Group}
	}
	var unknown []string
	for _, k := range named {
		_, down := byName["group "+k.Group]
		if served[schema.GroupKind{Group: k.Group, Kind: k.Kind}] || down || k.Group == "*" && len(failed) > 0 {
			continue
		}
		remedy := "correct it, or install the kind"
		if meant, ok := byName[strings.ToLower(k.Kind)]; ok {
			remedy = "write " + meant.Kind
		}
		unknown = append(unknown,
			fmt.Sprintf("%s: the API server serves no kind %s in the group %q; %s", k.At, k.Kind, k.Group, remedy))
	}
	return unknown, nil
}
