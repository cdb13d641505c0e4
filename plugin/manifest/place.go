package manifest

import (
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Place is the position of a field or a list element in an object.
type Place struct {
	Path fieldpath.Path
	// Key is the key of a field; nil for an element.
	Key  *yaml.Node
	Node *yaml.Node
	// Value is the JSON value that Apply writes there; without it, Apply removes the place.
	Value []byte

	in     *Place // the parent; nil for the object
	merged bool   // whether the field is that of a merge key
}

// Nearest returns the place of the longest part of a path that an object has.
func (o Object) Nearest(path fieldpath.Path) *Place {
	at := &Place{Node: o.Node}
	for i, element := range path {
		next := at.step(element)
		if next == nil {
			break
		}
		next.Path = path[:i+1]
		at = next
	}
	return at
}

// object returns the object that the place is in.
func (at *Place) object() Object {
	for at.in != nil {
		at = at.in
	}
	return Object{Node: at.Node}
}

func (at *Place) step(element fieldpath.PathElement) *Place {
	node, next := at.collection(), &Place{in: at}
	if element.FieldName != nil {
		next.Key, next.Node, next.merged = member(node, *element.FieldName, map[*yaml.Node]bool{})
	} else if node.Kind == yaml.SequenceNode {
		for i, item := range node.Content {
			if isElement(resolve(item), i, element) {
				next.Node = item
				break
			}
		}
	}
	if next.Node == nil {
		return nil
	}
	return next
}

// collection returns the mapping or sequence at the place.
func (at *Place) collection() *yaml.Node { return resolve(at.Node) }

func isElement(item *yaml.Node, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return *element.Index == index
	case element.Value != nil:
		return item.Kind == yaml.ScalarNode && equals(item, *element.Value)
	case element.Key == nil:
		return false
	}
	for _, key := range *element.Key {
		if is := child(item, key.Name); is != nil && (is.Kind != yaml.ScalarNode || !equals(is, key.Value)) ||
			is == nil && !isJSON(jsontree.KeyDefault(key.Name), key.Value) {
			return false
		}
	}
	return true
}

// HasValue reports whether the value at the place is equal to a JSON value.
func (at *Place) HasValue(json []byte) bool {
	want, err := value.FromJSON(json)
	return err == nil && equals(at.Node, want)
}

func equals(node *yaml.Node, want value.Value) bool {
	var is any
	return node.Decode(&is) == nil && value.Equals(value.NewValueInterface(is), want)
}

func isJSON(text []byte, want value.Value) bool {
	is, err := value.FromJSON(text)
	return err == nil && value.Equals(is, want)
}

// IsNull reports whether the value at the place is null.
func (at *Place) IsNull() bool { return at.Node.Kind == yaml.ScalarNode && at.Node.Tag == "!!null" }

// Line returns the line that the place begins on, counted from 1.
func (at *Place) Line() int {
	if at.Key != nil {
		return at.Key.Line
	}
	return at.Node.Line
}

// member returns the key and the value of a mapping's field, and whether it comes from a merge key. As in kubectl, the last of several
// fields with the same name counts. Visited are mappings that several merge keys can refer to, and even contain.
func member(node *yaml.Node, name string, visited map[*yaml.Node]bool) (key, found *yaml.Node, merged bool) {
	if node.Kind != yaml.MappingNode || visited[node] {
		return nil, nil, false
	}
	visited[node] = true
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1], false
		}
	}
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{resolve(node.Content[i+1])}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, other := range from {
			if key, found, _ := member(resolve(other), name, visited); found != nil {
				return key, found, true
			}
		}
	}
	return nil, nil, false
}

func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func child(node *yaml.Node, name string) *yaml.Node {
	_, found, _ := member(resolve(node), name, map[*yaml.Node]bool{})
	if found == nil {
		return nil
	}
	return resolve(found)
}

// Widen returns for each of several places to remove the place to remove instead: its outermost ancestor that would have no other
// content, but never a list element.
func Widen(places []*Place) []*Place {
	removed := map[*yaml.Node]bool{}
	left := map[*yaml.Node]int{} // the number of remaining nodes of a collection
	for _, at := range places {
		for at.in != nil && !removed[at.Node] {
			removed[at.Node] = true
			parent := at.in.collection()
			if _, known := left[parent]; !known {
				left[parent] = len(parent.Content)
			}
			left[parent]--
			if at.Key != nil { // of a mapping
				left[parent]--
			}
			if left[parent] > 0 || at.in.Key == nil || at.merged {
				break
			}
			at = at.in
		}
	}
	wide := make([]*Place, len(places))
	for i, at := range places {
		for wide[i] = at; at.in != nil; at = at.in {
			if removed[at.in.Node] {
				wide[i] = at.in
			}
		}
	}
	return wide
}
