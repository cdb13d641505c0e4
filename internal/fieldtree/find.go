package fieldtree

import (
	"slices"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Places are the values to which the paths of a Tree lead from a root.
type Places struct {
	root   *jsontree.Node
	values []*jsontree.Node // by Node.ID; nil for a path that leads nowhere
}

// Find follows all paths from a root, as jsontree.Node.Find does for one.
func (t *Tree) Find(root *jsontree.Node) Places {
	values := make([]*jsontree.Node, len(t.nodes))
	for _, n := range t.nodes { // parents before children
		in := root
		if n.parent != &t.root {
			in = values[n.parent.ID]
		}
		values[n.ID] = in.Child(n.Element)
	}
	return Places{root, values}
}

// Of returns the value of a node, nil if there is none.
func (p Places) Of(n *Node) *jsontree.Node { return p.values[n.ID] }

// Pointer returns the JSON pointer (RFC 6901) from the root of a node that has a value, or whose parent has one.
func (p Places) Pointer(n *Node) string {
	if at := p.Of(n); at != nil {
		return at.PointerIn(p.root)
	}
	last := "/" + jsontree.EscapePointer(*n.Element.FieldName)
	if parent := n.Parent(); parent != nil {
		return p.Of(parent).PointerIn(p.root) + last
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
