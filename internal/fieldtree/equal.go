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
	case textA[0] == '{' || textA[0] == '[':
		return e.parts(a, b)
	default:
		return bytes.Equal(textA, textB)
	}
}

// parts compares the remaining parts of two objects or two lists.
func (e *equality) parts(a, b member) bool {
	partsA, partsB := e.a.partsLeft(a), e.b.partsLeft(b)
	for {
		partA, okA := partsA.next()
		partB, okB := partsB.next()
		if !okA || !okB {
			return okA == okB
		}
		if !bytes.Equal(partA.name.Of(e.a.text), partB.name.Of(e.b.text)) || !e.values(partA, partB) {
			return false
		}
	}
}

// partsLeft are the members of an object or the elements of a list without the wanted ones.
type partsLeft struct {
	finder *finder
	of     *Node // nil if no path leads there
	at     int   // of the next part
	isList bool

	index    int
	elements elements
	seen     map[*Node]bool
}

func (f *finder) partsLeft(whole member) partsLeft {
	start := whole.value.Start
	p := partsLeft{finder: f, of: whole.node, at: rawjson.SkipSpace(f.text, start+1), isList: f.text[start] == '['}
	if p.isList && p.of != nil {
		p.elements, p.seen = elementsOf(p.of), map[*Node]bool{}
	}
	return p
}

// next returns the next part; ok is false after the last one.
func (p *partsLeft) next() (part member, ok bool) {
	for {
		if part, ok = p.read(); !ok || part.node == nil || !part.node.Wanted {
			return part, ok
		}
	}
}

// read returns the next part, wanted or not.
func (p *partsLeft) read() (part member, ok bool) {
	text := p.finder.text
	if p.at >= len(text) || text[p.at] == '}' || text[p.at] == ']' {
		return part, false
	}
	if p.isList {
		part.node = p.element()
	} else {
		part.name = rawjson.Span{Start: p.at, End: rawjson.SkipString(text, p.at)}
		if p.of != nil {
			part.node = p.of.field(rawjson.Name(part.name.Of(text)))
		}
		_, _, p.at = memberAt(text, p.at)
	}
	if p.at >= 0 {
		part.value = rawjson.Span{Start: p.at, End: rawjson.Skip(text, p.at)}
	}
	if !part.value.Present() {
		p.finder.over = true // the text is not JSON
		return part, false
	}
	p.at = p.finder.next(part.value.End)
	return part, true
}

// element returns the node of the next element. If several elements have the same key, only the first matches.
func (p *partsLeft) element() *Node {
	if p.of == nil {
		return nil
	}
	n := p.finder.element(p.at, p.index, p.elements)
	p.index++
	if n == nil || p.seen[n] {
		return nil
	}
	p.seen[n] = true
	return n
}
