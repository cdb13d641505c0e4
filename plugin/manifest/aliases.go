package manifest

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// aliases are the aliases of documents, by the node that they refer to.
type aliases map[*yaml.Node][]*yaml.Node

func (a aliases) add(document *yaml.Node) {
	each(document, func(node *yaml.Node) {
		if node.Kind == yaml.AliasNode {
			a[node.Alias] = append(a[node.Alias], node)
		}
	})
}

// leadInto reports whether an alias outside of a place refers to an anchor in it.
func (a aliases) leadInto(at *Place) bool {
	if len(a) == 0 {
		return false
	}
	inside := map[*yaml.Node]bool{}
	each(at.Node, func(node *yaml.Node) { inside[node] = true })
	for node := range inside {
		if slices.ContainsFunc(a[node], func(alias *yaml.Node) bool { return !inside[alias] }) {
			return true
		}
	}
	return false
}

// each visits a node and its descendants, without following aliases.
func each(node *yaml.Node, visit func(*yaml.Node)) {
	visit(node)
	for _, part := range node.Content {
		each(part, visit)
	}
}
