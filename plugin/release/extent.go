package release

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// widen replaces places by their parents if a parent has no other content, but never by a list element. It returns the places
// in the order of the document, without duplicates.
func widen(places []*place) []*place {
	removed := map[*yaml.Node]bool{}
	left := map[*yaml.Node]int{} // number of remaining children by parent
	remove := func(at *place) {
		if removed[at.node] || at.in == nil {
			return
		}
		removed[at.node] = true
		parent := resolve(at.in.node)
		if _, known := left[parent]; !known {
			left[parent] = countChildren(parent)
		}
		left[parent]--
	}
	var wide []*place
	for _, at := range places {
		remove(at)
	}
	for _, at := range places {
		for at.in != nil && at.in.key != nil && !at.shared && left[resolve(at.in.node)] == 0 {
			at = at.in
			remove(at)
		}
		wide = append(wide, at)
	}
	wide = slices.DeleteFunc(wide, func(at *place) bool { // nested in another removed place
		for in := at.in; in != nil; in = in.in {
			if removed[in.node] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(wide, func(a, b *place) int { return a.first().Line - b.first().Line })
	return slices.CompactFunc(wide, func(a, b *place) bool { return a.node == b.node })
}

func countChildren(node *yaml.Node) int {
	if node.Kind == yaml.MappingNode {
		return len(node.Content) / 2
	}
	return len(node.Content)
}

// first returns the node that the place begins with.
func (at *place) first() *yaml.Node {
	if at.key != nil {
		return at.key
	}
	return at.node
}

// sentence returns the instruction to delete the place.
func (at *place) sentence(m source.Text, w written, others aliases) string {
	first, last := w.extent(at)
	lines := strconv.Itoa(first)
	if last > first {
		lines += fmt.Sprintf("-%d", last)
	}
	sentence := fmt.Sprintf("%s:%s: delete %q", m.Name, lines, at.snippet(last > first))
	if at.shared || others.leadInto(at) {
		sentence += "; other parts of the file use it through an anchor"
	}
	return sentence
}

// snippet returns the beginning of the place, so that the reader can recognize it.
func (at *place) snippet(several bool) string {
	switch {
	case at.hidden && at.key == nil:
		return "-"
	case at.hidden:
		return at.key.Value + ":"
	case at.key == nil && at.node.Kind == yaml.ScalarNode && several:
		return "-"
	case at.key == nil && at.node.Kind == yaml.ScalarNode:
		return "- " + at.node.Value
	case at.key == nil:
		for i := 0; i+1 < len(at.node.Content); i += 2 {
			if at.node.Content[i+1].Kind == yaml.ScalarNode {
				return "- " + at.node.Content[i].Value + ": " + at.node.Content[i+1].Value
			}
		}
		return "-"
	case at.node.Kind == yaml.ScalarNode && !several:
		return at.key.Value + ": " + at.node.Value
	default:
		return at.key.Value + ":"
	}
}
