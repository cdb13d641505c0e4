package jsonnode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads texts into nodes. The zero Reader is ready to use. It can read several texts, and reuses its memory.
type Reader struct {
	text string
	dec  jsontext.Decoder
	// pending are the children of the objects and lists being read.
	pending []Member
	// spare is memory for the children of those that have been read.
	spare []Member
}

// Read returns the node of a JSON text according to RFC 8259 and RFC 7493: UTF-8 must be valid, and names in an object unique. The
// error of any other text has the byte offset. Strings share the memory of one copy of the text.
func (r *Reader) Read(text []byte) (Node, error) {
	// Names are compared here, because the decoder does it in more time than it needs for the rest.
	r.dec.Reset(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	r.text, r.pending = string(text), r.pending[:0]
	root, err := r.value(r.dec.PeekKind())
	if err != nil {
		return Node{}, problem(text, err)
	}
	end := int(r.dec.InputOffset())
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		return Node{}, fmt.Errorf("not strict JSON: more follows the value at byte %d", len(text)-len(rest))
	}
	return root, nil
}

// problem returns the strict decoder's error, which has the position and the reason, for a text that could not be read.
func problem(text []byte, err error) error {
	if _, strict := jsontext.NewDecoder(bytes.NewReader(text)).ReadValue(); strict != nil {
		err = strict
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// piece is the number of children for which a reader allocates memory at a time.
const piece = 48

// settled returns a copy of children.
func (r *Reader) settled(children []Member) []Member {
	if len(children) > len(r.spare) {
		r.spare = make([]Member, max(len(children), piece))
	}
	settled := r.spare[:len(children):len(children)]
	r.spare = r.spare[len(children):]
	copy(settled, children)
	return settled
}

func (r *Reader) value(kind jsontext.Kind) (Node, error) {
	if kind != '{' && kind != '[' {
		text, err := r.scalar()
		return Node{Kind: kind, Text: text}, err
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	if r.pending == nil {
		r.pending = make([]Member, 0, piece)
	}
	start, first := int(r.dec.InputOffset())-1, len(r.pending)
	for next := r.dec.PeekKind(); next != '}' && next != ']'; next = r.dec.PeekKind() {
		child, err := r.child(kind, next)
		if err != nil {
			return Node{}, err
		}
		r.pending = append(r.pending, child)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	n := Node{Kind: kind, Text: r.text[start:r.dec.InputOffset()], Children: r.settled(r.pending[first:])}
	r.pending = r.pending[:first]
	if kind == '{' && !n.hasUniqueNames() {
		return Node{}, jsontext.ErrDuplicateName
	}
	return n, nil
}

func (r *Reader) child(in, next jsontext.Kind) (child Member, err error) {
	if in == '{' {
		quoted, err := r.scalar()
		if err != nil {
			return child, err
		}
		child.Name, next = unquote(quoted), r.dec.PeekKind()
	}
	child.Node, err = r.value(next)
	return child, err
}

// scalar returns the text of the next value, which is neither an object nor a list.
func (r *Reader) scalar() (string, error) {
	value, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(value) : end], nil
}

// hasUniqueNames reports whether an object has no name twice. Names are mostly sorted, as API servers write them.
func (n *Node) hasUniqueNames() bool {
	n.sorted = true
	for i := 1; i < len(n.Children) && n.sorted; i++ {
		n.sorted = n.Children[i-1].Name < n.Children[i].Name
	}
	for i := 0; i < len(n.Children) && !n.sorted; i++ {
		if n.Find(n.Children[i].Name, -1) != i {
			return false
		}
	}
	return true
}

// unquote returns the value of a valid JSON string.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return quoted // cannot happen: the text was read as valid JSON
	}
	return string(text)
}
