package fieldtree

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// AddLeaves adds the leaf fields of an object: scalars and lists. A null value or an empty object adds nothing.
func (t *Tree) AddLeaves(root *jsontree.Node) { t.addLeaves(root, &t.root) }

func (t *Tree) addLeaves(value *jsontree.Node, n *Node) {
	switch {
	case value == nil || value.IsNull():
	case value.IsObject() && n.depth < MaxDepth:
		for part := range value.Parts() {
			name := part.Name()
			t.addLeaves(part, t.child(n, "f:"+name, fieldpath.FieldNameElement(name)))
		}
	default:
		n.Wanted = n.parent != nil
	}
}

// Has reports whether a path is a wanted path of t, nested under one or a parent of one.
func (t *Tree) Has(path fieldpath.Path) bool {
	n := &t.root
	for _, element := range path {
		key, err := keyOf(element)
		if n = t.children[childKey{n, key}]; err != nil || n == nil {
			return false
		}
		if n.Wanted {
			return true
		}
	}
	return n.isParent
}
