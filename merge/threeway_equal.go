package merge

import (
	"slices"
)

// equal says whether two values are the same, whatever the order of their members. A number equals what is written alike.
func equal(a, b *node) bool {
	if !a.is(b) {
		return false
	}
	if a.text != "" && a.text == b.text {
		return true
	}
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
