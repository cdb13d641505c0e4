package jsonnode

import (
	"maps"
	"slices"
)

// Equal reports whether two values are equal. The order of members does not matter. Numbers are equal if their texts are.
func Equal(a, b *Node) bool {
	switch {
	case a == b || a.Text != "" && a.Text == b.Text:
		return true
	case a.Kind != b.Kind:
		return false
	case a.Value != nil && b.Value != nil:
		return equalDecoded(a.Value, b.Value)
	case a.Kind == '{':
		return len(a.Open()) == len(b.Open()) && !slices.ContainsFunc(a.Children, func(c Member) bool {
			other := b.Field(c.Name, -1)
			return other == nil || !Equal(&c.Node, other)
		})
	case a.Kind == '[':
		return slices.EqualFunc(a.Open(), b.Open(), func(a, b Member) bool { return Equal(&a.Node, &b.Node) })
	case a.Kind == '"':
		return a.Unquoted() == b.Unquoted()
	default:
		return a.Text == b.Text
	}
}

func equalDecoded(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalDecoded)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalDecoded)
	default:
		return KindOf(a) != Unsupported && KindOf(b) != Unsupported && a == b
	}
}
