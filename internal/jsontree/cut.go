package jsontree

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Cut cuts the value at a path out of its object or list, and with it parents that become empty, as long as mayGo returns true for
// their paths. Remaining returns the result. Cut returns the value, nil if there is none or it has been cut before.
func (n *Node) Cut(path fieldpath.Path, mayGo func(parent fieldpath.Path) bool) (cut *Node) {
	at := n.Find(path)
	if len(path) == 0 || at.isGone() {
		return nil
	}
	cut = at
	for {
		at.isCut = true
		at.in.cuts++
		for up := at; up != nil && !up.in.hasCut; up = up.in.parent {
			up.in.hasCut = true
		}
		path = path[:len(path)-1]
		if at.in.cuts < len(at.in.list) || len(path) == 0 || !mayGo(path) {
			return cut
		}
		at = at.in.parent
	}
}

// isGone reports whether a value is missing, or cut with one of its parents.
func (n *Node) isGone() bool {
	if n == nil {
		return true
	}
	for ; n != nil; n = n.in.parent {
		if n.isCut {
			return true
		}
	}
	return false
}

// Replaced returns the text of a value that contains this one, with another value in its place.
func (n *Node) Replaced(in *Node, value []byte) []byte {
	return slices.Concat(n.doc().text[in.start:n.start], value, n.doc().text[n.end:in.end])
}

// Remaining returns the value's text without the parts that are cut. Nothing else changes: that of the root has the white space around
// it. Without any, it is the text itself.
func (n *Node) Remaining() []byte {
	switch {
	case n == nil:
		return nil
	case n.in.parent != nil:
		return n.appendRemaining(nil)
	case !n.hasCuts():
		return n.doc().text
	default:
		whole := append(make([]byte, 0, len(n.doc().text)), n.doc().text[:n.start]...)
		return append(n.appendRemaining(whole), n.doc().text[n.end:]...)
	}
}

// hasCuts reports whether a node nested under this one is cut.
func (n *Node) hasCuts() bool { return n.inside != nil && n.inside.hasCut }

func (n *Node) appendRemaining(to []byte) []byte {
	if !n.hasCuts() {
		return append(to, n.Text()...)
	}
	text, end := n.doc().text, n.start // end is that of the text processed so far
	isFirst := true
	for i := range n.inside.list {
		part := &n.inside.list[i]
		start := part.start
		if part.nameEnd > 0 {
			start = part.name
		}
		if i == 0 {
			to = append(to, text[end:start]...) // the bracket
		} else if !part.isCut && !isFirst {
			to = append(to, text[end:start]...) // the comma
		}
		end = part.end
		if part.isCut {
			continue
		}
		isFirst = false
		to = append(to, text[start:part.start]...) // the name
		to = part.appendRemaining(to)
	}
	return append(to, text[end:n.end]...)
}
