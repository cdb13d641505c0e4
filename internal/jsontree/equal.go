package jsontree

import (
	"bytes"
	"slices"
)

// EqualBut reports whether two values of the same encoder are equal, except for the values that are ignored, which may be missing from
// either. It returns false if the meter stops the work.
func EqualBut(a, b *Node, ignored ...*Node) bool {
	e := equality{ignored: map[*Node]bool{}, open: map[*Node]bool{}}
	for _, n := range ignored {
		if n == nil {
			continue
		}
		e.ignored[n] = true
		for up := n.in.parent; up != nil && !e.open[up]; up = up.in.parent {
			e.open[up] = true
		}
	}
	return a != nil && b != nil && e.equal(a, b)
}

// equality has the ignored values, and those that contain them.
type equality struct{ ignored, open map[*Node]bool }

func (e equality) equal(a, b *Node) bool {
	if !e.open[a] && !e.open[b] || a.Kind() != b.Kind() {
		return a.doc().meter.Spend(int(a.end-a.start)) && bytes.Equal(a.Text(), b.Text())
	}
	isIgnored := func(n *Node) bool { return e.ignored[n] }
	left, right := slices.DeleteFunc(slices.Collect(a.Parts()), isIgnored), slices.DeleteFunc(slices.Collect(b.Parts()), isIgnored)
	if len(left) != len(right) || a.inside == nil || b.inside == nil {
		return false
	}
	for i := range left {
		if !bytes.Equal(left[i].NameBytes(), right[i].NameBytes()) || !e.equal(left[i], right[i]) {
			return false
		}
	}
	return true
}
