package threeway

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/strictjson"
)

// reader parses JSON texts into nodes.
type reader struct {
	scan strictjson.Scanner
	text string
	// pending are the children of the objects and lists being read.
	pending []member
	// spare is memory for the children of objects and lists that have been read.
	spare []member
	// directives reports whether a member has the name of a directive.
	directives bool
}

// read returns the node of a JSON text; an empty text counts as an empty object. It checks the whole text, but opens only the
// objects and lists for which the model has a different one. A nil model opens all of them. A reader can read several texts, and
// reuses its memory.
func (r *reader) read(text []byte, model *node) (node, error) {
	if len(text) == 0 {
		return node{kind: '{', text: "{}"}, nil
	}
	r.text = string(text)
	r.scan.Reset(r.text, text)
	if r.pending == nil {
		r.pending = make([]member, 0, piece)
	}
	root, err := r.value(model, model == nil)
	if err == nil {
		err = r.scan.End()
	}
	if err != nil {
		return node{}, fmt.Errorf("reading JSON: %w", err)
	}
	return root, nil
}

// piece is the number of children for which a reader allocates memory at a time.
const piece = 48

// openText sets the children of a value whose text was checked but not opened.
func (n *node) openText() {
	r := reader{text: n.text}
	r.scan.Reset(n.text, []byte(n.text))
	if opened, err := r.value(nil, true); err == nil {
		n.children = opened.children
	}
}

func (r *reader) value(model *node, all bool) (node, error) {
	kind := r.scan.Kind()
	if kind == '{' || kind == '[' {
		if all || model != nil && model.kind == kind && !r.repeats(model) {
			return r.children(kind, model, all)
		}
		if model != nil && model.kind == kind && model.text != "" { // the same text has been checked
			return node{kind: kind, text: r.scan.Repeat(len(model.text))}, nil
		}
	}
	text, err := r.scan.Value()
	return node{kind: kind, text: text}, err
}

// repeats reports whether the next value has the same text as the model, so that it need not be opened.
func (r *reader) repeats(model *node) bool {
	return model.text != "" && strings.HasPrefix(r.text[r.scan.Offset():], model.text)
}

// children reads an object or a list.
func (r *reader) children(kind jsontext.Kind, model *node, all bool) (node, error) {
	start, first := r.scan.Offset(), len(r.pending)
	if err := r.scan.Enter(); err != nil {
		return node{}, err
	}
	for i := 0; ; i++ {
		more, err := r.scan.Next()
		if err != nil {
			return node{}, err
		}
		if !more {
			break
		}
		var child member
		if kind == '{' {
			if child.name, err = r.scan.Name(); err != nil {
				return node{}, err
			}
			r.directives = r.directives || isPatchDirective(child.name)
		}
		if child.node, err = r.value(childOf(model, child.name, i), all); err != nil {
			return node{}, err
		}
		r.pending = append(r.pending, child)
	}
	n := node{kind: kind, opened: true, text: r.text[start:r.scan.Offset()], children: r.settle(r.pending[first:])}
	r.pending = r.pending[:first]
	return n, nil
}

// childOf returns the model of a child: the model's member with that name, or its element at that index. For an element it is a
// guess, which costs time only if it is wrong.
func childOf(model *node, name string, i int) *node {
	switch {
	case model == nil:
		return nil
	case model.kind == '{':
		return model.field(name, i)
	case i < len(model.children):
		return &model.children[i].node
	default:
		return nil
	}
}

// settle returns a copy of children in memory that is allocated for many of them at a time.
func (r *reader) settle(children []member) []member {
	if len(children) == 0 {
		return nil
	}
	if len(children) > len(r.spare) {
		r.spare = make([]member, max(len(children), piece))
	}
	settled := r.spare[:len(children):len(children)]
	r.spare = r.spare[len(children):]
	copy(settled, children)
	return settled
}

// appendText appends the JSON text of a node to out: that of the input, or a new one.
func (n *node) appendText(out []byte) []byte {
	if !n.made() {
		return append(out, n.text...)
	}
	end := byte(n.kind) + 2 // in ASCII, as '}' is to '{' and ']' to '['
	out = append(out, byte(n.kind))
	for i := range n.children {
		if i > 0 {
			out = append(out, ',')
		}
		if n.kind == '{' {
			out = append(appendName(out, n.children[i].name), ':')
		}
		out = n.children[i].node.appendText(out)
	}
	return append(out, end)
}

func appendName(out []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			quoted, err := jsontext.AppendQuote(out, name)
			if err == nil {
				return quoted
			}
			break // cannot happen: the name is valid
		}
	}
	return append(append(append(out, '"'), name...), '"')
}
