// Package jsonnode holds the JSON values that the merges combine. Nodes are read from texts or made from decoded values, and
// written as text or decoded values again. A value that a merge does not change is the same Node, with its text or its identity in
// memory.
package jsonnode

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is a JSON value: a part of an input, as text or decoded, or a value that a merge has made. The merges use a nil Node for a
// missing value.
type Node struct {
	// Kind is the value's kind in jsontext: '{', '[', '"', '0', 'n', or 't' for both booleans; Unsupported, or 0 for a member that a
	// merge has deleted (IsAbsent).
	Kind jsontext.Kind
	// Text is an input's value as JSON text, Value its decoded value. Both are empty for values that a merge has made.
	Text  string
	Value any
	// Children are the members of an object or the elements of a list. Those of a decoded value are set by Open.
	Children []Member
	// index finds the members of a large object by name. It is built on first use.
	index map[string]int
}

// Member is a member of an object, or an element of a list, which has no name.
type Member struct {
	Name string
	Node Node
}

// Unsupported is the kind of a decoded value of a type into which JSON is not decoded, such as int16.
const Unsupported jsontext.Kind = '?'

// Of returns the node of a decoded value.
func Of(value any) Node { return Node{Kind: KindOf(value), Value: value} }

// KindOf returns the kind of a decoded value.
func KindOf(value any) jsontext.Kind {
	switch value.(type) {
	case nil:
		return 'n'
	case bool:
		return 't'
	case string:
		return '"'
	case int64, float64, json.Number, int, int32, uint64:
		return '0'
	case []any:
		return '['
	case map[string]any:
		return '{'
	default:
		return Unsupported
	}
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
func (n *Node) IsMade() bool { return n.IsContainer() && n.Value == nil && n.Text == "" }

// Open returns the children of an object or a list. The members of a decoded object are sorted by name, so that every merge visits
// them in the same order.
func (n *Node) Open() []Member {
	if n.Children != nil {
		return n.Children
	}
	switch value := n.Value.(type) {
	case map[string]any:
		n.Children = make([]Member, 0, len(value))
		for name, v := range value {
			n.Children = append(n.Children, Member{name, Of(v)})
		}
		n.Sort()
	case []any:
		n.Children = make([]Member, 0, len(value))
		for _, v := range value {
			n.Children = append(n.Children, Member{"", Of(v)})
		}
	}
	return n.Children
}

// Sort sorts an object's members by name.
func (n *Node) Sort() {
	slices.SortFunc(n.Children, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	n.index = nil
}

// Few is the maximum number of members or elements that are searched without an index.
const Few = 12

// Find returns the index of an object's member with a name, or -1. guess is its most likely index.
func (n *Node) Find(name string, guess int) int {
	children := n.Open()
	if guess >= 0 && guess < len(children) && children[guess].Name == name {
		return guess
	}
	if len(children) <= Few {
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
	if object, ok := n.Value.(map[string]any); ok && n.Children == nil {
		value, ok := object[name]
		if !ok {
			return nil
		}
		field := Of(value)
		return &field
	}
	i := n.Find(name, guess)
	if i < 0 || n.Children[i].Node.IsAbsent() {
		return nil
	}
	return &n.Children[i].Node
}

// Describe returns what a value is, for an error: "it is a list".
func (n *Node) Describe() string {
	switch n.Kind {
	case '{':
		return "it is an object"
	case '[':
		return "it is a list"
	case '"':
		return "it is a string"
	case '0':
		return "it is a number"
	case 't':
		return "it is a boolean"
	case 'n':
		return "it is null"
	default:
		return fmt.Sprintf("it has the unsupported type %T", n.Value)
	}
}

// Decode returns the decoded value of a node that was not read from a text: that of the input, or a new one.
func (n *Node) Decode() any {
	switch {
	case !n.IsMade():
		return n.Value
	case n.Kind == '{':
		object := make(map[string]any, len(n.Children))
		for i := range n.Children {
			if c := &n.Children[i]; !c.Node.IsAbsent() {
				object[c.Name] = c.Node.Decode()
			}
		}
		return object
	default:
		list := make([]any, len(n.Children))
		for i := range n.Children {
			list[i] = n.Children[i].Node.Decode()
		}
		return list
	}
}

// AppendText appends the JSON text of a node that was not decoded to out: that of the input, or a new one.
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
			out = append(appendQuoted(out, c.Name), ':')
		}
		out = c.Node.AppendText(out)
	}
	return append(out, byte(n.Kind)+2) // in ASCII, as '}' is to '{' and ']' to '['
}

func appendQuoted(out []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(out, text)
	if err != nil {
		return append(out, `""`...) // cannot happen: the text was read as valid JSON
	}
	return quoted
}
