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

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Tree is a set of paths.
type Tree struct {
	// MaxParents is the maximum length of the names of a path without the last one, 0 for none. Longer paths are not added: the paths of n
	// fields with a long parent have n times its length.
	MaxParents int

	root  Node
	nodes []*Node // by ID
	// children finds the nodes of the elements that were added below others.
	children map[childKey]*Node
}

// childKey is a node and an element below it, as serialized in managedFields: f:replicas.
type childKey struct {
	parent  *Node
	element string
}

// Node is a path in a Tree, or a prefix of one.
type Node struct {
	// ID numbers the nodes of a Tree from 0 in the order in which they were added, parents before children.
	ID int
	// Element is the last element of the node's path.
	Element fieldpath.PathElement
	// Wanted reports whether the path was added, and is not only a prefix of other paths.
	Wanted bool

	isParent bool
	depth    int32
	length   int // of the names in the path, as in managedFields
	parent   *Node
}

// Nodes returns all nodes but the root, by ID.
func (t *Tree) Nodes() []*Node { return t.nodes }

// Len returns the number of nodes.
func (t *Tree) Len() int { return len(t.nodes) }

// isFull reports whether paths end at a node because they would be too long.
func (t *Tree) isFull(n *Node) bool {
	return n.depth >= jsontree.MaxDepth || t.MaxParents > 0 && n.length > t.MaxParents
}

// Add adds a path and returns its node. It returns nil for a path that is empty, longer than jsontree.MaxDepth or MaxParents, or cannot be
// serialized.
func (t *Tree) Add(path fieldpath.Path) *Node {
	n := t.AddUnwanted(path)
	if n != nil {
		n.Wanted = true
	}
	return n
}

// AddUnwanted is like Add, for a path that is looked up but not wanted.
func (t *Tree) AddUnwanted(path fieldpath.Path) *Node {
	if len(path) == 0 || len(path) > jsontree.MaxDepth {
		return nil
	}
	n := &t.root
	for _, element := range path {
		key, err := fieldpath.SerializePathElement(element)
		if err != nil || t.isFull(n) {
			return nil
		}
		n = t.child(n, key, element)
	}
	return n
}

// child returns the child of a node with a key. It adds the child if there is none.
func (t *Tree) child(n *Node, key string, element fieldpath.PathElement) *Node {
	if c := t.children[childKey{n, key}]; c != nil {
		return c
	}
	if t.children == nil {
		t.children = map[childKey]*Node{}
	}
	c := &Node{ID: len(t.nodes), Element: element, parent: n, depth: n.depth + 1, length: n.length + len(key)}
	t.nodes, t.children[childKey{n, key}], n.isParent = append(t.nodes, c), c, true
	return c
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
	return n.parent != nil && fieldpattern.IsKey(n.parent.Element, n.Element)
}

// Has reports whether a path is a wanted path of t, nested under one or a parent of one.
func (t *Tree) Has(path fieldpath.Path) bool {
	n := &t.root
	for _, element := range path {
		key, err := fieldpath.SerializePathElement(element)
		if n = t.children[childKey{n, key}]; err != nil || n == nil {
			return false
		}
		if n.Wanted {
			return true
		}
	}
	return n.isParent
}
