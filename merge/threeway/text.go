package threeway

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/strictjson"
)

// reader makes nodes of a JSON text.
type reader struct {
	scan strictjson.Scanner
	text string
	// pending are the children of the objects and lists that are being read.
	pending []member
	// spare is room for the children of those that have been read.
	spare []member
	// directives says that a name has been read that is that of a directive.
	directives bool
}

// read returns the node of a JSON text; an empty text is an empty object. All of it is checked, but it is opened only
// where the model has another object or list at the same place; a nil model opens everything. A reader reads one text
// after the other, in the same memory.
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

// piece is for how many children a reader reserves memory at a time.
const piece = 48

// openText opens a value that was stepped over when its text was read, and checked then.
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
			return r.container(kind, model, all)
		}
		if model != nil && model.kind == kind && model.text != "" { // which has been checked
			return node{kind: kind, text: r.scan.Repeat(len(model.text))}, nil
		}
	}
	text, err := r.scan.Value()
	return node{kind: kind, text: text}, err
}

// repeats reports whether the next value is written as the model is: then nobody will need to look inside.
func (r *reader) repeats(model *node) bool {
	return model.text != "" && strings.HasPrefix(r.text[r.scan.Offset():], model.text)
}

func (r *reader) container(kind jsontext.Kind, model *node, all bool) (node, error) {
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

// childOf returns what the model has at the place of a child: the member of that name, or the element of that index,
// which is no more than a good guess.
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

// settle returns a copy of children that stays, many of them in one piece of memory.
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

// appendText appends the JSON text of a node to out: the one it was given as, or a new one.
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
		out = n.children[i].appendText(out)
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
			break // it has been read as a name before: this does not happen
		}
	}
	return append(append(append(out, '"'), name...), '"')
}
