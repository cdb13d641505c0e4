package merge

import (
	"encoding/json"
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
