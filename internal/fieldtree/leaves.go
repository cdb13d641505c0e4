package fieldtree

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// AddLeaves adds to into the leaf fields that a JSON text has at the node top of t, whose position is in places: scalars, and
// lists into which no path of t leads. Elements of other lists are identified as in t, or else by index. A null value or an
// empty object adds nothing.
func (t *Tree) AddLeaves(into *Tree, top *Node, text []byte, places Positions, meter Meter) {
	at := places[top.ID]
	if !at.Span.Present() {
		return
	}
	l := leafAdder{scan: finder{text: text, meter: meter}, into: into}
	l.value(at.Span.Start, top, l.target(top))
}

// leafAdder walks through a text along one tree, as far as its paths lead, and adds to another.
type leafAdder struct {
	scan finder

	into *Tree
}

// target returns the node of the other tree with the path of n.
func (l *leafAdder) target(n *Node) *Node {
	if n.parent == nil {
		return &l.into.root
	}
	return l.into.child(l.target(n.parent), n.key, n.Element)
}

// value adds the value at i to the node target; n is the node of the value, nil if there is none.
func (l *leafAdder) value(i int, n, target *Node) (end int) {
	switch {
	case i >= len(l.scan.text):
		return i
	case l.scan.over || target.depth >= MaxDepth:
		target.Wanted = true
		return l.scan.skip(i)
	case l.scan.text[i] == '{':
		return l.object(i, n, target)
	case l.scan.text[i] == '[' && n != nil && len(n.children) > 0:
		return l.list(i, n, target)
	case l.scan.text[i] == 'n':
		return l.scan.skip(i)
	default:
		target.Wanted = true
		return l.scan.skip(i)
	}
}

func (l *leafAdder) object(i int, n, target *Node) (end int) {
	for i = rawjson.SkipSpace(l.scan.text, i+1); i < len(l.scan.text) && l.scan.text[i] == '"'; {
		nameEnd := rawjson.SkipString(l.scan.text, i)
		name := string(rawjson.Name(l.scan.text[i:nameEnd]))
		l.scan.over = l.scan.over || !l.scan.meter.spend(nameEnd-i+1)
		i = rawjson.SkipSpace(l.scan.text, nameEnd)
		if i >= len(l.scan.text) || l.scan.text[i] != ':' {
			return len(l.scan.text)
		}
		var child *Node
		if n != nil {
			child = n.field([]byte(name))
		}
		next := l.into.child(target, "f:"+name, fieldpath.FieldNameElement(name))
		i = l.scan.next(l.value(rawjson.SkipSpace(l.scan.text, i+1), child, next))
	}
	return min(i+1, len(l.scan.text))
}

func (l *leafAdder) list(i int, n, target *Node) (end int) {
	of := elementsOf(n)
	index, seen := 0, map[*Node]bool{}
	for i = rawjson.SkipSpace(l.scan.text, i+1); i < len(l.scan.text) && l.scan.text[i] != ']'; index++ {
		child := l.scan.element(i, index, of)
		if seen[child] {
			child = nil // only the first element with a key matches
		}
		seen[child] = child != nil
		element := fieldpath.PathElement{Index: &[]int{index}[0]}
		if child != nil {
			element = child.Element
		}
		key, err := fieldpath.SerializePathElement(element)
		if err != nil {
			target.Wanted = true
			return l.scan.skip(i)
		}
		end := l.value(i, child, l.into.child(target, key, element))
		if end <= i {
			return len(l.scan.text)
		}
		i = l.scan.next(end)
	}
	return min(i+1, len(l.scan.text))
}

// Has reports whether the path of another tree's node is a wanted path of t, or nested under one.
func (t *Tree) Has(n *Node) bool {
	at := t.lookup(n)
	return at != nil && at.Wanted
}

// lookup returns the node of t with the path of n, or the first wanted node on the way to it, nil if there is neither.
func (t *Tree) lookup(n *Node) *Node {
	if n.parent == nil {
		return &t.root
	}
	at := t.lookup(n.parent)
	if at == nil || at.Wanted {
		return at
	}
	return at.child(n.key)
}

// Deepest returns the node of t with the longest prefix of the path of another tree's node, which may be the root.
func (t *Tree) Deepest(n *Node) *Node {
	if n.parent == nil {
		return &t.root
	}
	at := t.Deepest(n.parent)
	if at.depth != n.depth-1 {
		return at
	}
	if c := at.child(n.key); c != nil {
		return c
	}
	return at
}
