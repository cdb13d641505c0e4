package merge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// reader makes nodes of a JSON text.
type reader struct {
	dec  *jsontext.Decoder
	text string
	// pending are the children of the objects and lists that are being read.
	pending []member
	// spare is room for the children of those that have been read.
	spare []member
}

// read returns the node of a JSON text; an empty text is an empty object. All of it is checked, but it is opened only
// where the model has another object or list at the same place; a nil model opens everything. A reader reads one text
// after the other, in the same memory.
func (r *reader) read(text []byte, model *node) (node, error) {
	if len(text) == 0 {
		return node{kind: '{', text: "{}"}, nil
	}
	r.text = string(text)
	if r.dec == nil {
		r.dec, r.pending = jsontext.NewDecoder(bytes.NewBuffer(text)), make([]member, 0, piece)
	} else {
		r.dec.Reset(bytes.NewBuffer(text))
	}
	root, err := r.value(model, model == nil)
	if err != nil {
		return node{}, fmt.Errorf("reading JSON: %w", err)
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return node{}, fmt.Errorf("reading JSON: there is more behind the object, at byte %d", r.dec.InputOffset())
	}
	return root, nil
}

// piece is for how many children a reader reserves memory at a time.
const piece = 48

// openText opens a value that was stepped over when its text was read, and checked then.
func (n *node) openText() {
	trusted := jsontext.AllowDuplicateNames(true)
	r := reader{dec: jsontext.NewDecoder(strings.NewReader(n.text), trusted), text: n.text}
	if opened, err := r.value(nil, true); err == nil {
		n.children = opened.children
	}
}

func (r *reader) value(model *node, all bool) (node, error) {
	kind := r.dec.PeekKind()
	if (kind == '{' || kind == '[') && (all || model != nil && model.kind == kind && !r.repeats(model)) {
		return r.container(kind, model, all)
	}
	value, err := r.dec.ReadValue()
	if err != nil {
		return node{}, err
	}
	end := int(r.dec.InputOffset())
	return node{kind: kind, text: r.text[end-len(value) : end]}, nil
}

// repeats says whether the next value is written as the model is: then nobody will need to look inside.
func (r *reader) repeats(model *node) bool {
	rest := strings.TrimLeft(r.text[r.dec.InputOffset():], " \t\r\n:,")
	return strings.HasPrefix(rest, model.text)
}

func (r *reader) container(kind jsontext.Kind, model *node, all bool) (node, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return node{}, err
	}
	start, first := int(r.dec.InputOffset())-1, len(r.pending)
	for i := 0; ; i++ {
		if next := r.dec.PeekKind(); next == '}' || next == ']' {
			break
		}
		var child member
		var err error
		if kind == '{' {
			if child.name, err = r.name(); err != nil {
				return node{}, err
			}
		}
		if child.node, err = r.value(childOf(model, child.name, i), all); err != nil {
			return node{}, err
		}
		r.pending = append(r.pending, child)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return node{}, err
	}
	n := node{kind: kind, opened: true, text: r.text[start:int(r.dec.InputOffset())], children: r.settle(r.pending[first:])}
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

func (r *reader) name() (string, error) {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		end := int(r.dec.InputOffset())
		return r.text[end-len(quoted)+1 : end-1], nil
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	return string(name), err
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
