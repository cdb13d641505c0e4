package fieldtree

import "github.com/ownership-handoff/handoff/internal/rawjson"

// Cut returns a JSON text without the fields at the wanted paths, and without the objects and lists that become empty; no other
// byte changes. Objects and lists that were already empty stay. So do the outermost value and list elements, whose presence has a
// meaning. If keep is not nil, it reports which other nodes stay although they become empty. Changed reports whether anything was
// cut.
func (t *Tree) Cut(text []byte, keep func(*Node) bool, meter Meter) (cut []byte, changed bool) {
	f := finder{text: text, meter: meter, places: make(Places, len(t.nodes))}
	c := cutter{finder: f, keep: keep}
	start := rawjson.SkipSpace(text, 0)
	if start >= len(text) || len(t.nodes) == 0 {
		return text, false
	}
	c.value(start, &t.root)
	if c.over || len(c.removed) == 0 {
		return text, false
	}
	cut = make([]byte, 0, len(text))
	from := 0
	for _, span := range c.removed {
		cut = append(cut, text[from:span.Start]...)
		from = span.End
	}
	return append(cut, text[from:]...), true
}

// cutter collects what is to be removed from a text, front to back.
type cutter struct {
	finder

	keep    func(*Node) bool
	removed []rawjson.Span
}

// part is a member of an object or an element of a list.
type part struct {
	rawjson.Span

	gone bool
}

// value processes the value at i. Emptied reports whether all its parts are cut.
func (c *cutter) value(i int, n *Node) (end int, emptied bool) {
	if len(n.children) == 0 || c.over || i >= len(c.text) {
		return c.skip(i), false
	}
	var parts []part
	mark := len(c.removed)
	switch c.text[i] {
	case '{':
		parts, end = c.members(i, n)
	case '[':
		parts, end = c.elements(i, n)
	default:
		return c.skip(i), false
	}
	gone := 0
	for _, p := range parts {
		if p.gone {
			gone++
		}
	}
	if gone == 0 {
		return end, false
	}
	if gone == len(parts) {
		c.removed = append(c.removed[:mark], rawjson.Span{Start: parts[0].Start, End: parts[len(parts)-1].End})
		return end, true
	}
	c.remove(parts, mark)
	return end, false
}

func (c *cutter) members(i int, n *Node) (parts []part, end int) {
	for i = rawjson.SkipSpace(c.text, i+1); i < len(c.text) && c.text[i] == '"'; {
		start, nameEnd := i, rawjson.SkipString(c.text, i)
		c.over = c.over || !c.meter.spend(nameEnd-i+1)
		child := n.field(rawjson.Name(c.text[i:nameEnd]))
		i = rawjson.SkipSpace(c.text, nameEnd)
		if i >= len(c.text) || c.text[i] != ':' {
			return parts, len(c.text)
		}
		end, gone := c.child(rawjson.SkipSpace(c.text, i+1), child)
		parts = append(parts, part{Span: rawjson.Span{Start: start, End: end}, gone: gone})
		i = c.next(end)
	}
	return parts, min(i+1, len(c.text))
}

func (c *cutter) elements(i int, n *Node) (parts []part, end int) {
	of := elementsOf(n)
	for i = rawjson.SkipSpace(c.text, i+1); i < len(c.text) && c.text[i] != ']'; {
		child := c.element(i, len(parts), of)
		if child != nil && c.places[child.ID].Present() {
			child = nil // only the first element with a key matches
		}
		end, gone := c.child(i, child)
		if end <= i {
			return parts, len(c.text)
		}
		parts = append(parts, part{Span: rawjson.Span{Start: i, End: end}, gone: gone})
		i = c.next(end)
	}
	return parts, min(i+1, len(c.text))
}

// child processes the value of a member or an element. Gone reports whether the member or element is cut.
func (c *cutter) child(i int, n *Node) (end int, gone bool) {
	if n == nil {
		return c.skip(i), false
	}
	if n.Wanted {
		end = c.skip(i)
		c.places[n.ID].Span = rawjson.Span{Start: i, End: end}
		return end, true
	}
	end, emptied := c.value(i, n)
	c.places[n.ID].Span = rawjson.Span{Start: i, End: end}
	return end, emptied && n.IsField() && (c.keep == nil || !c.keep(n))
}

// remove records the spans of the parts to cut, each with the comma that separates it from a part that stays. It drops
// recorded spans within parts that are cut themselves.
func (c *cutter) remove(parts []part, mark int) {
	within := c.removed[mark:]
	var spans []rawjson.Span
	next := 0
	last := len(parts) - 1
	for last >= 0 && parts[last].gone {
		last--
	}
	for i, p := range parts {
		inside := next
		for next < len(within) && within[next].Start < p.End {
			next++
		}
		switch {
		case !p.gone:
			spans = append(spans, within[inside:next]...)
			if i == last && last < len(parts)-1 {
				spans = append(spans, rawjson.Span{Start: p.End, End: parts[len(parts)-1].End})
			}
		case i < last:
			spans = append(spans, rawjson.Span{Start: p.Start, End: parts[i+1].Start})
		}
	}
	c.removed = append(c.removed[:mark], spans...)
}
