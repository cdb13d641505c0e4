package jsonnode

import (
	"encoding/json"
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
	if text, ok := n.Value.(string); ok {
		return text
	}
	return unquote(n.Text)
}

// JSON returns the JSON text of a number, a boolean or null.
func (n *Node) JSON() string {
	if n.Text != "" {
		return n.Text
	}
	if text, err := json.Marshal(n.Value); err == nil {
		return string(text)
	}
	return "NaN"
}

// Scalar returns a scalar as a value for a path. It does not refer to the input.
func (n *Node) Scalar() value.Value {
	if n.Kind == '"' {
		return value.NewValueInterface(strings.Clone(n.Unquoted()))
	}
	text := n.JSON()
	if integer, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value.NewValueInterface(integer)
	}
	v, err := value.FromJSON([]byte(text)) // as float64, like other numbers in the API server
	if err != nil {
		return value.NewValueInterface(nil)
	}
	return v
}
