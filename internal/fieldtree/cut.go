package fieldtree

import "github.com/ownership-handoff/handoff/internal/rawjson"

// Cut returns a JSON text without the fields at the wanted paths, and without the objects and lists that become empty; no other
// byte changes. Objects and lists that were already empty stay. So do the outermost value and list elements, whose presence has a
// meaning. If keep is not nil, it reports which other nodes stay although they become empty. Changed reports whether anything was
// cut.
func (t *Tree) Cut(text []byte, keep func(*Node) bool, meter Meter) (cut []byte, changed bool) {
	f := finder{text: text, meter: meter, places: make(Positions, len(t.nodes))}
	c := cutter{scan: f, keep: keep}
	start := rawjson.SkipSpace(text, 0)
	if start >= len(text) || len(t.nodes) == 0 {
		return text, false
	}
	c.value(start, &t.root)
	if c.scan.over || len(c.removed) == 0 {
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
	scan finder

	keep    func(*Node) bool
	removed []rawjson.Span
}

// part is a member of an object or an element of a list.
type part struct {
	span rawjson.Span

	gone bool
}

// usualParts is the number of parts for which memory is allocated at once.
const usualParts = 8

// value processes the value at i. Emptied reports whether all its parts are cut.
func (c *cutter) value(i int, n *Node) (end int, emptied bool) {
	if len(n.children) == 0 || c.scan.over || i >= len(c.scan.text) {
		return c.scan.skip(i), false
	}
	var parts []part
	mark := len(c.removed)
	switch c.scan.text[i] {
	case '{':
		parts, end = c.members(i, n)
	case '[':
		parts, end = c.elements(i, n)
	default:
		return c.scan.skip(i), false
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
		c.removed = append(c.removed[:mark], rawjson.Span{Start: parts[0].span.Start, End: parts[len(parts)-1].span.End})
		return end, true
	}
	c.remove(parts, mark)
	return end, false
}

func (c *cutter) members(i int, n *Node) (parts []part, end int) {
	parts = make([]part, 0, usualParts)
	for i = rawjson.SkipSpace(c.scan.text, i+1); i < len(c.scan.text) && c.scan.text[i] == '"'; {
		start, nameEnd := i, rawjson.SkipString(c.scan.text, i)
		c.scan.over = c.scan.over || !c.scan.meter.spend(nameEnd-i+1)
		child := n.field(rawjson.Name(c.scan.text[i:nameEnd]))
		i = rawjson.SkipSpace(c.scan.text, nameEnd)
		if i >= len(c.scan.text) || c.scan.text[i] != ':' {
			return parts, len(c.scan.text)
		}
		end, gone := c.child(rawjson.SkipSpace(c.scan.text, i+1), child)
		parts = append(parts, part{span: rawjson.Span{Start: start, End: end}, gone: gone})
		i = c.scan.next(end)
	}
	return parts, min(i+1, len(c.scan.text))
}

func (c *cutter) elements(i int, n *Node) (parts []part, end int) {
	of := elementsOf(n)
	for i = rawjson.SkipSpace(c.scan.text, i+1); i < len(c.scan.text) && c.scan.text[i] != ']'; {
		child := c.scan.element(i, len(parts), of)
		if child != nil && c.scan.places[child.ID].Span.Present() {
			child = nil // only the first element with a key matches
		}
		end, gone := c.child(i, child)
		if end <= i {
			return parts, len(c.scan.text)
		}
		parts = append(parts, part{span: rawjson.Span{Start: i, End: end}, gone: gone})
		i = c.scan.next(end)
	}
	return parts, min(i+1, len(c.scan.text))
}

// child processes the value of a member or an element. Gone reports whether the member or element is cut.
func (c *cutter) child(i int, n *Node) (end int, gone bool) {
	if n == nil {
		return c.scan.skip(i), false
	}
	if n.Wanted {
		end = c.scan.skip(i)
		c.scan.places[n.ID].Span = rawjson.Span{Start: i, End: end}
		return end, true
	}
	end, emptied := c.value(i, n)
	c.scan.places[n.ID].Span = rawjson.Span{Start: i, End: end}
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
		for next < len(within) && within[next].Start < p.span.End {
			next++
		}
		switch {
		case !p.gone:
			spans = append(spans, within[inside:next]...)
			if i == last && last < len(parts)-1 {
				spans = append(spans, rawjson.Span{Start: p.span.End, End: parts[len(parts)-1].span.End})
			}
		case i < last:
			spans = append(spans, rawjson.Span{Start: p.span.Start, End: parts[i+1].span.Start})
		}
	}
	c.removed = append(c.removed[:mark], spans...)
}
