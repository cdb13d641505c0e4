package manifest

import (
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Place is the position of a field or a list element in an object.
type Place struct {
	// Key is the key of a field; nil for an element.
	Key  *yaml.Node
	Node *yaml.Node

	in *Place // the parent; nil for the object
	// shared reports whether the place is reached through an alias or a merge key, so that other parts of the file use it.
	shared bool
}

// Find returns the place of a path in an object, or nil.
func (o Object) Find(path fieldpath.Path) *Place {
	at := &Place{Node: o.Node}
	for _, element := range path {
		if at = at.step(element); at == nil {
			return nil
		}
	}
	return at
}

func (at *Place) step(element fieldpath.PathElement) *Place {
	node := resolve(at.Node)
	shared := at.shared || node != at.Node
	if element.FieldName != nil {
		key, found, merged := member(node, *element.FieldName)
		if found == nil {
			return nil
		}
		return &Place{in: at, Key: key, Node: found, shared: shared || merged}
	}
	if node.Kind != yaml.SequenceNode {
		return nil
	}
	for i, item := range node.Content {
		if isElement(resolve(item), i, element) {
			return &Place{in: at, Node: item, shared: shared}
		}
	}
	return nil
}

func isElement(item *yaml.Node, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return *element.Index == index
	case element.Value != nil:
		return sameScalar(item, *element.Value)
	case element.Key == nil:
		return false
	}
	for _, key := range *element.Key {
		_, found, _ := member(item, key.Name)
		switch {
		case found != nil && !sameScalar(resolve(found), key.Value):
			return false
		case found == nil && !isDefault(key):
			return false
		}
	}
	return true
}

// isDefault reports whether an element without the field has this key.
func isDefault(key value.Field) bool {
	text := jsontree.KeyDefault(key.Name)
	if text == nil {
		return false
	}
	missing, err := value.FromJSON(text)
	return err == nil && value.Equals(missing, key.Value)
}

func sameScalar(node *yaml.Node, want value.Value) bool {
	var is any
	if node.Kind != yaml.ScalarNode || node.Decode(&is) != nil {
		return false
	}
	return value.Equals(value.NewValueInterface(is), want)
}

// member returns the key and the value of a mapping's field, and whether it comes from a merge key.
func member(node *yaml.Node, name string) (key, found *yaml.Node, merged bool) {
	return memberOf(node, name, map[*yaml.Node]bool{})
}

// memberOf implements member; visited avoids searching a mapping again that several merge keys refer to.
func memberOf(node *yaml.Node, name string, visited map[*yaml.Node]bool) (key, found *yaml.Node, merged bool) {
	if visited[node] {
		return nil, nil, false
	}
	visited[node] = true
	if node.Kind != yaml.MappingNode {
		return nil, nil, false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1], false
		}
	}
	key, found = mergedMember(node, name, visited)
	return key, found, found != nil
}

// mergedMember is memberOf for the fields that merge keys add to a mapping.
func mergedMember(node *yaml.Node, name string, visited map[*yaml.Node]bool) (key, found *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != mergeTag {
			continue
		}
		from := []*yaml.Node{resolve(node.Content[i+1])}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, other := range from {
			if key, found, _ := memberOf(resolve(other), name, visited); found != nil {
				return key, found
			}
		}
	}
	return nil, nil
}

const mergeTag = "!!merge"

func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func child(node *yaml.Node, name string) *yaml.Node {
	_, found, _ := member(resolve(node), name)
	if found == nil {
		return nil
	}
	return resolve(found)
}

// Depth returns the number of path elements from the object to the place.
func (at *Place) Depth() (depth int) {
	for ; at.in != nil; at = at.in {
		depth++
	}
	return depth
}

// Line returns the line that the place begins on, counted from 1.
func (at *Place) Line() int { return at.first().Line }
