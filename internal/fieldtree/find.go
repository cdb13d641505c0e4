package fieldtree

import (
	"slices"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Places are the values in a text to which the paths of a Tree lead, by Node.ID; nil for a path that leads nowhere.
type Places []*jsontree.Node

// Find follows all paths from a value, as jsontree.Node.Find does for one.
func (t *Tree) Find(root *jsontree.Node) Places {
	places := make(Places, len(t.nodes))
	for _, n := range t.nodes { // parents before children
		in := root
		if n.parent != &t.root {
			in = places[n.parent.ID]
		}
		places[n.ID] = in.Child(n.Element)
	}
	return places
}

// Of returns the value of a node, nil if there is none.
func (p Places) Of(n *Node) *jsontree.Node { return p[n.ID] }

// Pointer returns the JSON pointer (RFC 6901) in root of a node that has a value, or whose parent has one.
func (p Places) Pointer(root *jsontree.Node, n *Node) string {
	if at := p[n.ID]; at != nil {
		return at.PointerIn(root)
	}
	last := "/" + jsontree.EscapePointer(*n.Element.FieldName)
	if parent := n.Parent(); parent != nil {
		return p[parent.ID].PointerIn(root) + last
	}
	return last
}

// Names returns the elements of a node's path after the path of another node: field names, and "*" for list elements.
func (n *Node) Names(below *Node) []string {
	var names []string
	for ; n != nil && n != below && n.parent != nil; n = n.parent {
		name := "*"
		if n.IsField() {
			name = *n.Element.FieldName
		}
		names = append(names, name)
	}
	slices.Reverse(names)
	return names
}
