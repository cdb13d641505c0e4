package threeway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that takes part in a merge: one that was given, as text or decoded, or one that the merge made. A
// value that was given is opened, so that its children can be seen, only when the merge has to look inside.
type node struct {
	// kind is that of the value as jsontext names it: '{', '[', '"', '0', 't', 'f', 'n'; 0 where there is none.
	kind jsontext.Kind
	// decoded says that the merge is of decoded values.
	decoded bool
	// opened says that children hold what is inside.
	opened bool
	// text is the value as it was written, value the value as it was decoded. Neither is there in what the merge made.
	text  string
	value any
	// children are the members of an object, or the elements of a list.
	children []member
	// index finds the members of a large object by name, once it has been needed.
	index map[string]int
}

type member struct {
	name string
	node
}

// linear is up to how many members of an object, or elements of a list, are looked through rather than indexed.
const linear = 12

// find returns where an object has the member of that name, or -1. The caller guesses the place.
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

// field returns the member of that name, nil where there is none or the node is no object.
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

// open makes the children of a given object or list visible.
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

// is says whether two values are of the same kind.
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

// unquoted returns the string that the node is.
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
		return n.text // it has been read as a string before: this does not happen
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

// given returns a decoded object as a node.
func given(object map[string]any) node {
	if object == nil {
		object = map[string]any{}
	}
	return nodeOf(object)
}

func nodeOf(value any) node {
	return node{kind: kindOf(value), decoded: true, value: value}
}

// kindOf returns the kind of a decoded value; 0 for what JSON does not decode into.
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
		return 0
	}
}

// openDecoded makes children of what is inside. Members are sorted by name, so that the merge goes through them in an
// order of which the next one is the same.
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

// decode returns the decoded value that a node stands for: the one it was given as, or a new one.
func (n *node) decode() any {
	switch {
	case !n.made():
		return n.value
	case n.kind == '{':
		object := make(map[string]any, len(n.children))
		for i := range n.children {
			object[n.children[i].name] = n.children[i].decode()
		}
		return object
	default:
		list := make([]any, len(n.children))
		for i := range n.children {
			list[i] = n.children[i].decode()
		}
		return list
	}
}

// made says whether the merge made the value, rather than having been given it.
func (n *node) made() bool { return n.opened && n.value == nil && n.text == "" }

// kindName returns what messages call the node's kind.
func (n node) kindName() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return fmt.Sprintf("a %T", n.value)
	}
}

// equal says whether two values are the same, whatever the order of their members. A number equals what is written alike.
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
