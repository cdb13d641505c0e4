package threeway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value in a merge: a part of an input, as text or decoded, or a value that the merge has made. The children of
// an input's value are read when the merge first needs them (open).
type node struct {
	// kind is the value's kind in jsontext: '{', '[', '"', '0', 't', 'f', 'n'; unsupported, or 0 if there is no value (absent).
	kind jsontext.Kind
	// decoded reports whether the merge is of decoded values.
	decoded bool
	// opened reports whether children are set.
	opened bool
	// text is an input's value as JSON text, value its decoded value. Both are empty for values that the merge has made.
	text  string
	value any
	// children are the members of an object, or the elements of a list.
	children []member
	// index finds the members of a large object by name. It is built on first use.
	index map[string]int
}

// unsupported is the kind of a decoded value of a type into which JSON is not decoded, such as int16.
const unsupported jsontext.Kind = '?'

// absent reports whether there is no value, not even null.
func (n *node) absent() bool { return n.kind == 0 }

type member struct {
	name string
	node node
}

// linear is the maximum number of members or elements that are searched without an index.
const linear = 12

// find returns the index of an object's member with a name, or -1. guess is its most likely index.
func (n *node) find(name string, guess int) int {
	if guess < len(n.children) && n.children[guess].name == name {
		return guess
	}
	if len(n.children) <= linear {
		return slices.IndexFunc(n.children, func(c member) bool { return c.name == name })
	}
	if n.index == nil {
		n.index = make(map[string]int, len(n.children))
		for i := range n.children {
			n.index[n.children[i].name] = i
		}
	}
	if i, ok := n.index[name]; ok {
		return i
	}
	return -1
}

// field returns an object's member with a name, nil if there is none. guess is its most likely index.
func (n *node) field(name string, guess int) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	n.open()
	if i := n.find(name, guess); i >= 0 {
		return &n.children[i].node
	}
	return nil
}

// open sets the children of an input's object or list.
func (n *node) open() {
	if n.opened || n.kind != '{' && n.kind != '[' {
		return
	}
	if n.decoded {
		n.openDecoded()
	} else {
		n.openText()
	}
	n.opened = true
}

// is reports whether two values are of the same kind.
func (n *node) is(other *node) bool {
	a, b := n.kind, other.kind
	if a == 'f' {
		a = 't'
	}
	if b == 'f' {
		b = 't'
	}
	return a == b
}

// unquoted returns the value of a string.
func (n *node) unquoted() string {
	if n.decoded {
		s, _ := n.value.(string)
		return s
	}
	if strings.IndexByte(n.text, '\\') < 0 {
		return n.text[1 : len(n.text)-1]
	}
	raw, err := jsontext.AppendUnquote(nil, n.text)
	if err != nil {
		return n.text // cannot happen: the text is a valid string
	}
	return string(raw)
}

// number returns a number's text.
func (n *node) number() string {
	if !n.decoded {
		return n.text
	}
	if text, err := json.Marshal(n.value); err == nil {
		return string(text)
	}
	return "NaN"
}

// given returns the node of a decoded object, which may be nil.
func given(object map[string]any) node {
	if object == nil {
		object = map[string]any{}
	}
	return nodeOf(object)
}

// nodeOf returns the node of a decoded value.
func nodeOf(value any) node {
	return node{kind: kindOf(value), decoded: true, value: value}
}

// kindOf returns the kind of a decoded value.
func kindOf(value any) jsontext.Kind {
	switch v := value.(type) {
	case nil:
		return 'n'
	case bool:
		if v {
			return 't'
		}
		return 'f'
	case string:
		return '"'
	case int64, float64, json.Number, int, int32, uint64:
		return '0'
	case []any:
		return '['
	case map[string]any:
		return '{'
	default:
		return unsupported
	}
}

// openDecoded sets the children of a decoded value. Members are sorted by name, so that every merge visits them in the same
// order.
func (n *node) openDecoded() {
	switch value := n.value.(type) {
	case map[string]any:
		n.children = make([]member, 0, len(value))
		for name, v := range value {
			n.children = append(n.children, member{name, nodeOf(v)})
		}
		slices.SortFunc(n.children, func(a, b member) int { return strings.Compare(a.name, b.name) })
	case []any:
		n.children = make([]member, 0, len(value))
		for _, v := range value {
			n.children = append(n.children, member{"", nodeOf(v)})
		}
	}
}

// decode returns the decoded value of a node: that of the input, or a new one.
func (n *node) decode() any {
	switch {
	case !n.made():
		return n.value
	case n.kind == '{':
		object := make(map[string]any, len(n.children))
		for i := range n.children {
			object[n.children[i].name] = n.children[i].node.decode()
		}
		return object
	default:
		list := make([]any, len(n.children))
		for i := range n.children {
			list[i] = n.children[i].node.decode()
		}
		return list
	}
}

// made reports whether the merge has made the value, rather than taken it from an input.
func (n *node) made() bool { return n.opened && n.value == nil && n.text == "" }

// describe returns what a value is, for an error: "it is a list".
func (n node) describe() string {
	switch n.kind {
	case '{':
		return "it is an object"
	case '[':
		return "it is a list"
	case '"':
		return "it is a string"
	case '0':
		return "it is a number"
	case 't', 'f':
		return "it is a boolean"
	case 'n':
		return "it is null"
	default:
		return fmt.Sprintf("it has the unsupported type %T", n.value)
	}
}

// equal reports whether two values are equal. The order of members does not matter. Numbers are equal if their texts are.
func equal(a, b *node) bool {
	if !a.is(b) {
		return false
	}
	switch {
	case a.text != "" && a.text == b.text:
		return true
	case a.decoded && b.decoded && !a.opened && !b.opened:
		return equalDecoded(a.value, b.value)
	}
	return equalParts(a, b)
}

func equalParts(a, b *node) bool {
	switch a.kind {
	case '{':
		return equalObjects(a, b)
	case '[':
		return equalLists(a, b)
	case '"':
		return a.unquoted() == b.unquoted()
	case 'n':
		return true
	default:
		return !a.decoded && a.text == b.text || a.decoded && a.value == b.value
	}
}

func equalObjects(a, b *node) bool {
	a.open()
	b.open()
	if len(a.children) != len(b.children) {
		return false
	}
	for i := range a.children {
		j := b.find(a.children[i].name, i)
		if j < 0 || !equal(&a.children[i].node, &b.children[j].node) {
			return false
		}
	}
	return true
}

func equalLists(a, b *node) bool {
	a.open()
	b.open()
	return slices.EqualFunc(a.children, b.children, func(a, b member) bool { return equal(&a.node, &b.node) })
}
