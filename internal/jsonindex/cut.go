package jsonindex

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Cut cuts the field at a path out of the text, and with it the objects and lists that hold nothing else, as long as canGo
// permits, which is asked with the path of each. It returns the field's value, nil where there is no such field or it is cut
// already.
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

// isCut reports whether a part, or what it is in, is cut.
func (n *node) isCut() bool {
	for ; n != nil; n = n.in {
		if n.gone {
			return true
		}
	}
	return false
}

// Text returns the text without what is cut. Nothing else of it changes.
func (x *Index) Text() []byte { return x.root.appendTo(nil) }

func (n *node) appendTo(text []byte) []byte {
	if !n.changed {
		return append(text, n.text...)
	}
	end := 0      // of what has been gone over
	some := false // a part before stays: the first that stays has no comma before it
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
