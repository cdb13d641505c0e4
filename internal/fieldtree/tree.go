// Package fieldtree looks up many field paths at once.
//
// A Tree is a prefix tree of paths (sigs.k8s.io/structured-merge-diff/v6/fieldpath). Find follows all paths through an object, and
// Managed through the fieldsV1 of a managedFields entry
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management), each in one pass: the time is linear
// in the text and in the tree. Users determine the length of both, so the texts are metered (jsontree.Node.Limit).
package fieldtree

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// MaxDepth is the maximum number of elements in a path.
const MaxDepth = jsontree.MaxDepth

// manyChildren is the number of children above which a Node looks them up in a map.
const manyChildren = 8

// Tree is a set of paths.
type Tree struct {
	root  Node
	nodes []*Node // by ID
	spare []Node  // memory for the next nodes
}

// Node is a path in a Tree, or a prefix of one.
type Node struct {
	// ID numbers the nodes of a Tree from 0 in the order in which they were added, parents before children.
	ID int
	// Element is the last element of the node's path.
	Element fieldpath.PathElement
	// Wanted reports whether the path was added, and is not only a prefix of other paths.
	Wanted bool

	depth  int32
	key    string // Element as serialized in managedFields: f:replicas
	parent *Node
	below  *children // nil if there are none
}

// children are those of a node.
type children struct {
	list  []*Node
	byKey map[string]*Node // if there are many
}

// Nodes returns all nodes but the root, by ID.
func (t *Tree) Nodes() []*Node { return t.nodes }

// Len returns the number of nodes.
func (t *Tree) Len() int { return len(t.nodes) }

// Empty reports whether the tree has no paths.
func (t *Tree) Empty() bool { return len(t.nodes) == 0 }

// Add adds a path and returns its node. It returns nil for a path that is empty, longer than MaxDepth or cannot be serialized.
func (t *Tree) Add(path fieldpath.Path) *Node {
	n := t.AddUnwanted(path)
	if n != nil {
		n.Wanted = true
	}
	return n
}

// AddUnwanted is like Add, for a path that is looked up but not wanted.
func (t *Tree) AddUnwanted(path fieldpath.Path) *Node {
	if len(path) == 0 || len(path) > MaxDepth {
		return nil
	}
	n := &t.root
	for _, element := range path {
		if c := n.childAt(element); c != nil {
			n = c
			continue
		}
		key, err := keyOf(element)
		if err != nil {
			return nil
		}
		n = t.child(n, key, element)
	}
	return n
}

// childAt returns the child for a field name without serializing it, nil for other elements.
func (n *Node) childAt(element fieldpath.PathElement) *Node {
	if element.FieldName == nil || n.below == nil || n.below.byKey != nil {
		return nil
	}
	for _, c := range n.below.list {
		if c.Element.FieldName != nil && *c.Element.FieldName == *element.FieldName {
			return c
		}
	}
	return nil
}

// keyOf serializes a path element as in managedFields.
func keyOf(element fieldpath.PathElement) (string, error) {
	if element.FieldName != nil {
		return "f:" + *element.FieldName, nil
	}
	return fieldpath.SerializePathElement(element)
}

// chunk is the number of nodes that are allocated at once, at first and at most.
const (
	firstChunk = 4
	mostChunk  = 64
)

// newNode adds a node.
func (t *Tree) newNode() *Node {
	if len(t.spare) == 0 {
		t.spare = make([]Node, min(max(firstChunk, len(t.nodes)), mostChunk))
		t.nodes = slices.Grow(t.nodes, len(t.spare))
	}
	n := &t.spare[0]
	t.spare = t.spare[1:]
	n.ID = len(t.nodes)
	t.nodes = append(t.nodes, n)
	return n
}

// child returns the child of a node with a key. It adds the child if there is none.
func (t *Tree) child(n *Node, key string, element fieldpath.PathElement) *Node {
	if c := n.child(key); c != nil {
		return c
	}
	c := t.newNode()
	c.Element, c.key, c.parent, c.depth = element, key, n, n.depth+1
	if n.below == nil {
		n.below = &children{}
	}
	n.below.add(c)
	return c
}

// add adds a child. Once there is a map, there is no list.
func (b *children) add(c *Node) {
	if b.byKey == nil && len(b.list) < manyChildren {
		b.list = append(b.list, c)
		return
	}
	if b.byKey == nil {
		b.byKey = make(map[string]*Node, 2*manyChildren)
		for _, c := range b.list {
			b.byKey[c.key] = c
		}
		b.list = nil
	}
	b.byKey[c.key] = c
}

func (n *Node) child(key string) *Node {
	switch {
	case n.below == nil:
		return nil
	case n.below.byKey != nil:
		return n.below.byKey[key]
	}
	for _, c := range n.below.list {
		if c.key == key {
			return c
		}
	}
	return nil
}

// Parent returns the node of the path without its last element, nil for a path with one element.
func (n *Node) Parent() *Node {
	if n.parent == nil || n.parent.parent == nil {
		return nil
	}
	return n.parent
}

// IsField reports whether the node is a member of an object, rather than an element of a list.
func (n *Node) IsField() bool { return n.Element.FieldName != nil }

// Path returns the node's path.
func (n *Node) Path() fieldpath.Path {
	path := make(fieldpath.Path, 0, n.depth)
	for ; n.parent != nil; n = n.parent {
		path = append(path, n.Element)
	}
	slices.Reverse(path)
	return path
}

// Depth returns the number of elements in the node's path.
func (n *Node) Depth() int { return int(n.depth) }

// IsKey reports whether the node is a key field of a list element, which identifies the element.
func (n *Node) IsKey() bool {
	if n.parent == nil || n.parent.Element.Key == nil || n.Element.FieldName == nil {
		return false
	}
	return slices.ContainsFunc(*n.parent.Element.Key, func(f value.Field) bool { return f.Name == *n.Element.FieldName })
}
