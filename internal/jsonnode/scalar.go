package jsonnode

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Key returns the value of a list element's key field, or the field's default, a JSON text; nil if there is neither.
func (n *Node) Key(name string, defaults map[string]string) *Node {
	if field := n.Field(name, 0); field != nil {
		return field
	}
	if text, ok := defaults[name]; ok {
		return &Node{Kind: kindOf(jsontext.Value(text).Kind()), Text: text}
	}
	return nil
}

// Unquoted returns the value of a string, and an empty one for other values and for nil.
func (n *Node) Unquoted() string {
	if n == nil || n.Kind != '"' {
		return ""
	}
	return unquote(n.Text)
}

// Scalar returns a scalar as a value for a path. It does not refer to the input.
func (n *Node) Scalar() value.Value {
	if n.Kind == '"' {
		return value.NewValueInterface(strings.Clone(n.Unquoted()))
	}
	if integer, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
		return value.NewValueInterface(integer)
	}
	v, err := value.FromJSON([]byte(n.Text)) // as float64, like other numbers in the API server
	if err != nil {
		return value.NewValueInterface(nil)
	}
	return v
}
