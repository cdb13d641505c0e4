package jsontree

import (
	"bytes"
	"slices"
)

// These functions scan text that has been checked. They check nothing again: listing the members on the way to a field with
// jsontext.Decoder takes six times as long as with them, which is a tenth of what a keep adds to a write.

// noParts are those of empty objects and lists.
var noParts parts

// list returns the members or elements, which it reads at first. It returns none if the meter stops the work.
func (n *Node) list() []Node {
	if n == nil {
		return nil
	}
	kind := n.Kind()
	switch {
	case n.inside != nil:
		return n.inside.list
	case kind != '{' && kind != '[' || !n.doc().meter.Spend(int(n.end-n.start)):
		return nil
	}
	text := n.doc().text[:n.end]
	i := space(text, int(n.start)+1)
	if i == len(text)-1 {
		n.inside = &noParts
		return nil
	}
	p := &parts{of: n.doc(), parent: n}
	n.inside = p
	for i < len(text)-1 {
		part := Node{in: p, index: uint32(len(p.list))} //nolint:gosec // at most maxText
		if kind == '{' {
			end := skipString(text, i)
			part.name, part.nameEnd = uint32(i), uint32(end) //nolint:gosec // at most maxText
			i = space(text, space(text, end)+1)
		}
		end := skip(text, i)
		part.start, part.end = uint32(i), uint32(end) //nolint:gosec // at most maxText
		// Twice as many, or as many as there are if the others have the same size.
		if listed := len(p.list); listed == cap(p.list) {
			p.list = slices.Grow(p.list, min(fewParts+listed, 1+(listed+1)*(len(text)-end)/(end-int(n.start))))
		}
		p.list = append(p.list, part)
		if i = space(text, end); i < len(text) && text[i] == ',' {
			i = space(text, i+1)
		}
	}
	return p.list
}

// space returns the index of the first byte from i on that is not white space.
func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that starts at i.
func skip(text []byte, i int) int {
	if i >= len(text) {
		return len(text)
	}
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	default:
		end := bytes.IndexAny(text[i:], ",]} \n\t\r")
		if end < 0 {
			return len(text)
		}
		return i + end
	}
}

// skipString returns the end of the string that starts at i.
func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

// skipNested returns the end of the object or list that starts at i.
func skipNested(text []byte, i int) int {
	for depth := 0; i < len(text); i++ {
		if text[i] == '"' {
			i = skipString(text, i) - 1
			continue
		}
		if depth += int(nesting[text[i]]); depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

// nesting is by how much a byte outside a string changes the depth of what follows it.
var nesting = [256]int8{'{': 1, '[': 1, '}': -1, ']': -1}
