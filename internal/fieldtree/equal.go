package fieldtree

import (
	"bytes"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Equal reports whether two JSON texts from the same encoder are equal except for the values at the wanted paths, which may be
// missing from either text. It returns false if the meter stops the work.
func (t *Tree) Equal(a, b []byte, meter Meter) bool {
	e := equality{a: finder{text: a, meter: meter}, b: finder{text: b, meter: meter}}
	whole := func(text []byte) member { return member{value: rawjson.Span{End: len(text)}, node: &t.root} }
	return e.values(whole(a), whole(b)) && !e.a.over && !e.b.over
}

// equality compares two texts.
type equality struct{ a, b finder }

// member is a member of an object or an element of a list. Its node is nil if no path leads to it.
type member struct {
	name, value rawjson.Span
	node        *Node
}

func (m member) isEnd() bool { return m.node == nil || len(m.node.children) == 0 }

// values compares two values that are not wanted.
func (e *equality) values(a, b member) bool {
	textA, textB := a.value.Of(e.a.text), b.value.Of(e.b.text)
	e.a.over = e.a.over || !e.a.meter.spend(len(textA))
	switch {
	case e.a.over || e.b.over || len(textA) == 0 || len(textB) == 0:
		return false
	case a.isEnd() && b.isEnd() || textA[0] != textB[0]:
		return bytes.Equal(textA, textB)
	case textA[0] == '{':
		return e.parts(e.a.membersLeft(a), e.b.membersLeft(b))
	case textA[0] == '[':
		return e.parts(e.a.elementsLeft(a), e.b.elementsLeft(b))
	default:
		return bytes.Equal(textA, textB)
	}
}

// parts compares the remaining parts of two objects or lists.
func (e *equality) parts(a, b []member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i].name.Of(e.a.text), b[i].name.Of(e.b.text)) || !e.values(a[i], b[i]) {
			return false
		}
	}
	return true
}

// membersLeft returns the members of an object without the wanted ones.
func (f *finder) membersLeft(object member) []member {
	var left []member
	at := object.value
	rawjson.Members(at.Of(f.text), func(name, value rawjson.Span) bool {
		m := member{name: name.From(at.Start), value: value.From(at.Start)}
		if object.node != nil {
			m.node = object.node.field(rawjson.Name(m.name.Of(f.text)))
		}
		if m.node == nil || !m.node.Wanted {
			left = append(left, m)
		}
		return true
	})
	return left
}

// elementsLeft returns the elements of a list without the wanted ones. If several elements have the same key, only the first
// matches.
func (f *finder) elementsLeft(list member) []member {
	var left []member
	var of elements
	if list.node != nil {
		of = elementsOf(list.node)
	}
	index, seen := 0, map[*Node]bool{}
	rawjson.Elements(list.value.Of(f.text), func(at rawjson.Span) bool {
		m := member{value: at.From(list.value.Start)}
		if of.node != nil {
			m.node = f.element(m.value.Start, index, of)
		}
		if seen[m.node] {
			m.node = nil
		}
		seen[m.node] = m.node != nil
		if m.node == nil || !m.node.Wanted {
			left = append(left, m)
		}
		index++
		return true
	})
	return left
}
