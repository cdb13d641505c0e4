// Package jsonnode holds the JSON values that the merges combine. A value that a merge does not change is the same Node, and is
// written as the text that it was read from.
package jsonnode

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is a JSON value: a part of an input, or a value that a merge has made. The merges use a nil Node for a missing value.
type Node struct {
	// Kind is the value's kind in jsontext: '{', '[', '"', '0', 'n', or 't' for both booleans; 0 for a member that a merge has deleted
	// (IsAbsent).
	Kind jsontext.Kind
	// Text is the JSON text of an input's value. It is empty for values that a merge has made.
	Text string
	// Children are the members of an object or the elements of a list.
	Children []Member
	// index finds the members of a large object by name. It is built on first use.
	index map[string]int
}

// Member is a member of an object, or an element of a list, which has no name.
type Member struct {
	Name string
	Node Node
}

// kindOf returns the Kind of nodes of a kind in jsontext.
func kindOf(kind jsontext.Kind) jsontext.Kind {
	if kind == 'f' {
		return 't'
	}
	return kind
}

// IsAbsent reports whether there is no value, not even null.
func (n *Node) IsAbsent() bool { return n.Kind == 0 }

// IsContainer reports whether the value is an object or a list.
func (n *Node) IsContainer() bool { return n.Kind == '{' || n.Kind == '[' }

// IsMade reports whether a merge has made the value, rather than taken it from an input.
func (n *Node) IsMade() bool { return n.IsContainer() && n.Text == "" }

// few is the maximum number of members or elements that are searched without an index.
const few = 12

// Find returns the index of an object's member with a name, or -1. guess is its most likely index.
func (n *Node) Find(name string, guess int) int {
	children := n.Children
	if guess >= 0 && guess < len(children) && children[guess].Name == name {
		return guess
	}
	if len(children) <= few {
		return slices.IndexFunc(children, func(c Member) bool { return c.Name == name })
	}
	if n.index == nil {
		n.index = make(map[string]int, len(children))
		for i := range children {
			n.index[children[i].Name] = i
		}
	}
	if i, ok := n.index[name]; ok {
		return i
	}
	return -1
}

// Field returns an object's member with a name, nil if there is none or the value is not an object. guess is its most likely
// index.
func (n *Node) Field(name string, guess int) *Node {
	if n == nil || n.Kind != '{' {
		return nil
	}
	i := n.Find(name, guess)
	if i < 0 || n.Children[i].Node.IsAbsent() {
		return nil
	}
	return &n.Children[i].Node
}

// Describe returns what a value is, for an error.
func (n *Node) Describe() string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't':
		return "a boolean"
	default:
		return "null"
	}
}

// AppendText appends the JSON text of a node to out: that of the input, or a new one.
func (n *Node) AppendText(out []byte) []byte {
	if !n.IsMade() {
		return append(out, n.Text...)
	}
	out = append(out, byte(n.Kind))
	start := len(out)
	for i := range n.Children {
		c := &n.Children[i]
		if c.Node.IsAbsent() {
			continue
		}
		if len(out) > start {
			out = append(out, ',')
		}
		if n.Kind == '{' {
			out, _ = jsontext.AppendQuote(out, c.Name) // no error: the name was read as valid JSON
			out = append(out, ':')
		}
		out = c.Node.AppendText(out)
	}
	return append(out, byte(n.Kind)+2) // in ASCII, as '}' is to '{' and ']' to '['
}
