package fieldtree

import (
	"errors"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// ErrElement is returned for a path element that cannot be parsed. It does not quote the element, which can contain a secret.
var ErrElement = errors.New("a path element cannot be parsed")

// Managed follows all paths through the field set of a managedFields entry (fieldsV1). It calls visit for each node whose path, or
// a path nested under it, is in the set, with the subset under the node.
func (t *Tree) Managed(set *jsontree.Node, visit func(n *Node, subset *jsontree.Node)) {
	t.managed(&t.root, set, visit)
}

func (t *Tree) managed(n *Node, set *jsontree.Node, visit func(*Node, *jsontree.Node)) {
	if !n.isParent {
		return
	}
	for part := range set.Parts() {
		if c := t.children[childKey{n, part.Name()}]; c != nil {
			visit(c, part)
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
