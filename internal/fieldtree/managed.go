package fieldtree

import (
	"cmp"
	"errors"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// ErrElement is returned for a path element that cannot be parsed. It does not quote the element, which can contain a secret.
var ErrElement = errors.New("a path element cannot be parsed")

// Part is what a field set contains of a node's path: the path itself or paths nested under it.
type Part struct {
	Node *Node
	// Subset is what the set contains under the node; nil if that is all of it.
	Subset *jsontree.Node
}

// Equals reports whether two parts contain the same of a node's path.
func (p Part) Equals(other Part) bool {
	text := func(p Part) string { return cmp.Or(string(p.Subset.Text()), "{}") }
	return p.Node == other.Node && text(p) == text(other)
}

// Compare compares parts by the places of their nodes in the tree.
func (p Part) Compare(other Part) int { return p.Node.ID - other.Node.ID }

// Managed follows all paths through the field set of a managedFields entry (fieldsV1). It calls visit for each node whose path, or
// a path nested under it, is in the set.
func (t *Tree) Managed(set *jsontree.Node, visit func(Part)) {
	t.managed(&t.root, set, visit)
}

func (t *Tree) managed(n *Node, set *jsontree.Node, visit func(Part)) {
	if !n.isParent {
		return
	}
	for part := range set.Parts() {
		if c := t.children[childKey{n, part.Name()}]; c != nil {
			visit(Part{Node: c, Subset: part})
			t.managed(c, part, visit)
		}
	}
}

// IsLeaf reports whether a subset is empty or only contains its own path, which is written as a dot.
func IsLeaf(subset *jsontree.Node) bool {
	return subset.Len() == 0 || subset.Len() == 1 && subset.Member(".") != nil
}

// AddMatching adds the leaf fields of a set that match, element by element from a start state on. step returns the state after one more
// element, given as in the set (f:replicas): if ok is false, no path with this prefix can match; if all is true, the field and everything
// nested under it matches.
//
// It calls leaf for each of these fields, and above for the leaf fields under which only a longer path could match; they are not added if
// above is nil. No node is wanted unless leaf or above makes it so. The error is ErrElement.
func AddMatching[State any](
	t *Tree, set *jsontree.Node, start State, step func(at State, key string) (next State, all, ok bool), leaf, above func(*Node),
) error {
	a := adder[State]{tree: t, step: step, leaf: leaf, above: above}
	return a.add(set, &t.root, start, false)
}

// adder walks a set of fields and adds what matches.
type adder[State any] struct {
	tree        *Tree
	step        func(at State, key string) (next State, all, ok bool)
	leaf, above func(*Node)
}

func (a *adder[State]) add(set *jsontree.Node, into *Node, state State, all bool) error {
	if a.tree.isFull(into) {
		return nil
	}
	for part := range set.Parts() {
		name, next, all, ok := part.Name(), state, all, true
		if name == "." {
			continue
		}
		if !all {
			next, all, ok = a.step(state, name)
		}
		isLeaf, visit := IsLeaf(part), a.leaf
		if !all {
			visit = a.above
		}
		if !ok || isLeaf && visit == nil {
			continue
		}
		element, err := fieldpath.DeserializePathElement(name)
		if err != nil {
			return ErrElement
		}
		n := a.tree.child(into, name, element)
		if isLeaf {
			visit(n)
		} else if err := a.add(part, n, next, all); err != nil {
			return err
		}
	}
	return nil
}
