package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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
func (n *node) kindName() string {
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
