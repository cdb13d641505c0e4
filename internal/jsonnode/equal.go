package jsonnode

import "slices"

// Equal reports whether two values are equal. The order of members does not matter. Numbers are equal if their texts are.
func Equal(a, b *Node) bool {
	switch {
	case a == b || a.Text != "" && a.Text == b.Text:
		return true
	case a.Kind != b.Kind:
		return false
	case a.Kind == '{':
		return len(a.Children) == len(b.Children) && !slices.ContainsFunc(a.Children, func(c Member) bool {
			other := b.Field(c.Name, -1)
			return other == nil || !Equal(&c.Node, other)
		})
	case a.Kind == '[':
		return slices.EqualFunc(a.Children, b.Children, func(a, b Member) bool { return Equal(&a.Node, &b.Node) })
	case a.Kind == '"':
		return a.Unquoted() == b.Unquoted()
	default:
		return a.Text == b.Text
	}
}
