package jsonindex

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Cut cuts the field at a path from the text. It also cuts parents that become empty, as long as canGo returns true for their
// paths. It returns the value of the field, nil if there is no such field or it has already been cut.
func (x *Index) Cut(path fieldpath.Path, canGo func(fieldpath.Path) bool) []byte {
	at := x.find(path)
	if at == nil || len(path) == 0 || at.isCut() {
		return nil
	}
	cut := at.text
	for {
		at.gone = true
		in := at.in
		for up := in; up != nil && !up.changed; up = up.in {
			up.changed = true
		}
		in.cut++
		path = path[:len(path)-1]
		if in.cut < len(in.parts) || len(path) == 0 || !canGo(path) {
			return cut
		}
		at = in
	}
}

// isCut reports whether a node or one of its ancestors is cut.
func (n *node) isCut() bool {
	for ; n != nil; n = n.in {
		if n.gone {
			return true
		}
	}
	return false
}

// Text returns the text without the cut fields. It changes nothing else.
func (x *Index) Text() []byte { return x.root.appendTo(nil) }

func (n *node) appendTo(text []byte) []byte {
	if !n.changed {
		return append(text, n.text...)
	}
	end := 0      // of the text processed so far
	some := false // an earlier part stays; the first part that stays has no comma before it
	for i, part := range n.parts {
		span := n.spans[i]
		switch {
		case i == 0:
			text = append(text, n.text[:span.Start]...) // the bracket
		case !part.gone && some:
			text = append(text, n.text[end:span.Start]...) // the comma
		}
		if end = span.End; part.gone {
			continue
		}
		some = true
		text = append(text, n.text[span.Start:span.End-len(part.text)]...) // the name
		text = part.appendTo(text)
	}
	return append(text, n.text[end:]...)
}
