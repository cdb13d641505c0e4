package jsonnode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Read returns the node of an input according to RFC 8259 and RFC 7493: UTF-8 must be valid, and names in an object unique. The
// InputError of any other text has the byte offset. Strings share the memory of one copy of the text.
func Read(input string, text []byte) (*Node, error) {
	r := reader{text: string(text), dec: jsontext.NewDecoder(bytes.NewBuffer(text))}
	root, err := r.value()
	rest := bytes.TrimLeft(text[r.dec.InputOffset():], " \t\r\n")
	switch {
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	case err == nil && len(rest) > 0:
		err = fmt.Errorf("not strict JSON: more follows the value at byte %d", len(text)-len(rest))
	}
	if err != nil {
		return nil, &InputError{Input: input, Err: fmt.Errorf("reading JSON: %w", err)}
	}
	return &root, nil
}

// reader reads one text.
type reader struct {
	text string
	dec  *jsontext.Decoder
	// pending are the children of the objects and lists being read.
	pending []Member
}

func (r *reader) value() (Node, error) {
	kind := kindOf(r.dec.PeekKind())
	if kind != '{' && kind != '[' {
		text, err := r.scalar()
		return Node{Kind: kind, Text: text}, err
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	start, first := int(r.dec.InputOffset())-1, len(r.pending)
	for next := r.dec.PeekKind(); next != '}' && next != ']'; next = r.dec.PeekKind() {
		child, err := r.child(kind)
		if err != nil {
			return Node{}, err
		}
		r.pending = append(r.pending, child)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	n := Node{Kind: kind, Text: r.text[start:r.dec.InputOffset()], Children: slices.Clone(r.pending[first:])}
	r.pending = r.pending[:first]
	return n, nil
}

func (r *reader) child(in jsontext.Kind) (child Member, err error) {
	if in == '{' {
		quoted, err := r.scalar()
		if err != nil {
			return child, err
		}
		child.Name = unquote(quoted)
	}
	child.Node, err = r.value()
	return child, err
}

// scalar returns the text of the next value, which is neither an object nor a list.
func (r *reader) scalar() (string, error) {
	value, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(value) : end], nil
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
