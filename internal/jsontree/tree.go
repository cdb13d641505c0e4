// Package jsontree reads JSON text as a tree, as far as its users ask. An object, a last-applied configuration and the fieldsV1 of a
// managedFields entry are JSON alike, and all are read here.
//
// Parse checks the whole text once. After that, a Node lists its members or elements when they are first needed, and keeps them,
// so that each part of a text is read about once for each level of nesting that paths lead into. Users of the API server determine
// how large and how deep a text is: paths have at most MaxDepth elements, and a Meter limits the work.
package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the maximum number of elements in a path. Fields nested deeper are not looked up: the paths of n fields at depth d
// have n*d elements.
const MaxDepth = 128

// Meter counts steps of work, about one for each byte read, and reports whether the work may continue. A nil Meter has no limit.
type Meter func(steps int) (ok bool)

// Spend reports whether the work may continue after a number of steps.
func (m Meter) Spend(steps int) bool { return m == nil || m(steps) }

// Node is a value in a text. A nil Node stands for a missing value: it has no text and no parts. A Node is not safe for concurrent
// use.
type Node struct {
	in     *parts // those that it is one of
	inside *parts // nil if they have not been read
	// start and end are the position of the value in the text, and name and nameEnd that of a member's quoted name.
	start, end, name, nameEnd uint32
	index                     uint32 // in the parent
	isCut                     bool   // with everything nested under it
}

// parts are the members of an object or the elements of a list. The root is the only part of a text.
type parts struct {
	of     *document
	parent *Node // nil for the root
	list   []Node
	cuts   int  // the number of parts that are cut
	hasCut bool // whether one of them, or a node nested under it, is cut

	lookups *lookups
}

// document is what the nodes of a text have in common.
type document struct {
	text  []byte
	meter Meter
}

func (n *Node) doc() *document { return n.in.of }

// maxText is the maximum size of a text in bytes, as positions are 32 bits.
const maxText = 1<<31 - 1

var errTooLarge = errors.New("the JSON is too large")

// Parse returns the root of a text, which must be one JSON value by RFC 8259 and RFC 7493: names in an object are unique, strings are
// valid UTF-8, and nesting is at most 10,000 levels. The error does not quote the text, which can contain secrets. The text must not
// change.
func Parse(text []byte) (*Node, error) {
	if len(text) > maxText {
		return nil, errTooLarge
	}
	if !jsontext.Value(text).IsValid() {
		return nil, problem(text)
	}
	return Valid(text), nil
}

// Valid is Parse for a text that has been checked before.
func Valid(text []byte) *Node {
	start := space(text, 0)
	if start == len(text) {
		return nil
	}
	in := &parts{of: &document{text: text}}
	return &Node{in: in, start: uint32(start), end: uint32(skip(text, start))} //nolint:gosec // at most maxText
}

// problem returns why a text is not one JSON value, with the position and without the names and characters that the library quotes.
func problem(text []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	_, err := dec.ReadValue()
	if err == nil {
		return fmt.Errorf("invalid JSON: there is more after the value, at byte %d", dec.InputOffset())
	}
	if errors.Is(err, io.EOF) { // without any value
		err = io.ErrUnexpectedEOF
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) || syntax.Err == nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	why := syntax.Err.Error()
	if quote := strings.IndexAny(why, "`'\""); quote >= 0 {
		why = strings.TrimSpace(why[:quote])
	}
	return fmt.Errorf("invalid JSON: %s, after byte %d", why, syntax.ByteOffset)
}

// Limit sets the meter of all nodes of the text; nil sets no limit. If the meter stops the work, values seem to have no parts.
func (n *Node) Limit(m Meter) {
	if n != nil {
		n.doc().meter = m
	}
}

// Text returns the value's JSON, a part of the text that was parsed; nil for a missing value.
func (n *Node) Text() []byte {
	if n == nil {
		return nil
	}
	return n.doc().text[n.start:n.end:n.end]
}

// Document returns the whole text that was parsed, nil for a missing value.
func (n *Node) Document() []byte {
	if n == nil {
		return nil
	}
	return n.doc().text
}

// Kind returns the kind of a value: one of '{', '[', '"', '0', 't', 'f' and 'n', or 0 if it is missing.
func (n *Node) Kind() jsontext.Kind {
	if n == nil {
		return 0
	}
	return jsontext.Value(n.Text()).Kind()
}

// IsObject reports whether the value is an object.
func (n *Node) IsObject() bool { return n.Kind() == '{' }

// IsNull reports whether the value is null.
func (n *Node) IsNull() bool { return n.Kind() == 'n' }

// String returns the value of a string; ok is false if the value is not a string.
func (n *Node) String() (s string, ok bool) {
	raw, ok := n.Bytes()
	return string(raw), ok
}

// Bytes is String without a copy, if the string has no escapes. The result must not be modified.
func (n *Node) Bytes() (s []byte, ok bool) {
	if n.Kind() != '"' {
		return nil, false
	}
	return unquote(n.Text()), true
}

func unquote(text []byte) []byte {
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	s, err := jsontext.AppendUnquote(make([]byte, 0, len(text)), text)
	if err != nil {
		return nil
	}
	return s
}

// Name returns the name of a member, empty for other values.
func (n *Node) Name() string { return string(n.NameBytes()) }

// NameBytes is Name without a copy, if the name has no escapes. The result must not be modified.
func (n *Node) NameBytes() []byte {
	if n.nameEnd == 0 {
		return nil
	}
	return unquote(n.doc().text[n.name:n.nameEnd])
}

// Index returns the index of a member or element in its parent.
func (n *Node) Index() int { return int(n.index) }

// Parent returns the object or list that contains the value, nil for the root.
func (n *Node) Parent() *Node { return n.in.parent }

// Len returns the number of members or elements.
func (n *Node) Len() int { return len(n.list()) }

// Parts returns the members of an object or the elements of a list, in their order. Other values have none.
func (n *Node) Parts() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		parts := n.list()
		for i := range parts {
			if !yield(&parts[i]) {
				return
			}
		}
	}
}

// PointerIn returns the JSON pointer (RFC 6901) of the value in one that contains it, or in the whole text if root is nil.
func (n *Node) PointerIn(root *Node) string {
	var steps []string
	for ; n != nil && n != root && n.in.parent != nil; n = n.in.parent {
		step := strconv.Itoa(int(n.index))
		if n.nameEnd > 0 {
			step = EscapePointer(n.Name())
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return ""
	}
	slices.Reverse(steps)
	return "/" + strings.Join(steps, "/")
}

// EscapePointer returns a name as a step of a JSON pointer (RFC 6901).
func EscapePointer(name string) string {
	return strings.TrimPrefix(string(jsontext.Pointer("").AppendToken(name)), "/")
}
