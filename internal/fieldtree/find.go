package fieldtree

import (
	"strconv"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Position is the position in a text to which a node's path leads.
type Position struct {
	// Span is the position of the value; not Present if the path leads nowhere.
	Span rawjson.Span

	// Index is the position of an element in its list.
	Index int
}

// Positions are the places of all nodes of a tree in one text, by Node.ID.
type Positions []Position

// Find follows all paths through the JSON text of an object: field names through objects; keys, values and indexes through
// lists. A key matches the first element whose fields have the key's values. A missing key field matches the default of the
// API server, which is only implemented for the protocol of a port. If several path elements match the same list element, it
// is found under one of them: its index, else its value, else a key. The text must be valid JSON. If the meter stops the
// work, the remaining paths are not found.
func (t *Tree) Find(text []byte, meter Meter) Positions {
	f := finder{text: text, meter: meter, places: make(Positions, len(t.nodes))}
	if start := rawjson.SkipSpace(text, 0); start < len(text) && len(t.nodes) > 0 {
		f.value(start, &t.root)
	}
	return f.places
}

// Of returns the text of a node's value, nil if there is none.
func (p Positions) Of(n *Node, text []byte) []byte { return p[n.ID].Span.Of(text) }

// Missing returns the first node on the path from the root to n that is not in the text, nil if n is in the text.
func (p Positions) Missing(n *Node) *Node {
	var missing *Node
	for ; n != nil && n.parent != nil && !p[n.ID].Span.Present(); n = n.parent {
		missing = n
	}
	return missing
}

// Pointer returns the JSON pointer (RFC 6901) of a node whose ancestors are all in the text.
func (p Positions) Pointer(n *Node) string {
	steps := make([]string, 0, n.depth)
	size := 0
	for ; n.parent != nil; n = n.parent {
		step := strconv.Itoa(p[n.ID].Index)
		if n.IsField() {
			step = rawjson.EscapePointer(*n.Element.FieldName)
		}
		steps, size = append(steps, step), size+1+len(step)
	}
	pointer := make([]byte, 0, size)
	for i := len(steps) - 1; i >= 0; i-- {
		pointer = append(append(pointer, '/'), steps[i]...)
	}
	return string(pointer)
}

// finder reads each byte of a text once, and the elements of a list once more for each set of key names.
type finder struct {
	text   []byte
	meter  Meter
	places Positions
	over   bool // the meter has stopped the work

	key    []byte   // of a list element, as managedFields write it
	values [][]byte // of the fields of that key
}

// value follows the paths under n through the value that starts at i, and returns the end of the value.
func (f *finder) value(i int, n *Node) (end int) {
	if len(n.children) == 0 || f.over {
		return f.skip(i)
	}
	switch f.text[i] {
	case '{':
		return f.object(i, n)
	case '[':
		return f.list(i, n)
	default:
		return f.skip(i)
	}
}

func (f *finder) skip(i int) (end int) {
	end = rawjson.Skip(f.text, i)
	f.over = f.over || !f.meter.spend(end-i)
	return end
}

func (f *finder) object(i int, n *Node) (end int) {
	for i = rawjson.SkipSpace(f.text, i+1); i < len(f.text) && f.text[i] == '"'; {
		name, steps, value := memberAt(f.text, i)
		f.over = f.over || !f.meter.spend(steps)
		if value < 0 || value == len(f.text) {
			return len(f.text)
		}
		i = f.next(f.visit(value, n.field(name), 0))
	}
	return min(i+1, len(f.text))
}

// memberAt returns the name of the member at i, the steps of reading it, and the position of its value; the position is -1 if the
// name has no value.
func memberAt(text []byte, i int) (name []byte, steps, value int) {
	end := rawjson.SkipString(text, i)
	name, steps = rawjson.Name(text[i:end]), end-i+1
	colon := rawjson.SkipSpace(text, end)
	if colon >= len(text) || text[colon] != ':' {
		return name, steps, -1
	}
	return name, steps, rawjson.SkipSpace(text, colon+1)
}

// visit records the position of a child, and follows the paths under it. A nil child means that no path leads there.
func (f *finder) visit(i int, child *Node, index int) (end int) {
	if child == nil || f.places[child.ID].Span.Present() {
		return f.skip(i)
	}
	end = f.value(i, child)
	f.places[child.ID] = Position{Span: rawjson.Span{Start: i, End: end}, Index: index}
	return end
}

// next skips the comma and the white space between two members or elements.
func (f *finder) next(i int) int {
	i = rawjson.SkipSpace(f.text, i)
	if i < len(f.text) && f.text[i] == ',' {
		return rawjson.SkipSpace(f.text, i+1)
	}
	return i
}

func (f *finder) list(i int, n *Node) (end int) {
	elements := elementsOf(n)
	index := 0
	for i = rawjson.SkipSpace(f.text, i+1); i < len(f.text) && f.text[i] != ']'; index++ {
		child := f.element(i, index, elements)
		end := f.visit(i, child, index)
		if end <= i {
			return len(f.text)
		}
		i = f.next(end)
	}
	return min(i+1, len(f.text))
}

// Names returns the elements of a node's path after the path of another node: field names, and "*" for list elements.
func (n *Node) Names(below *Node) []string {
	if n == nil || n == below || n.parent == nil {
		return nil
	}
	names := make([]string, 0, n.depth)
	for ; n != nil && n != below && n.parent != nil; n = n.parent {
		name := "*"
		if n.IsField() {
			name = *n.Element.FieldName
		}
		names = append(names, name)
	}
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return names
}
