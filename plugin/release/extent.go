package release

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// widen goes from places to what they are in, where nothing else is: up to, and not including, an element of a list. Each place
// is returned once, in the order of the document.
func widen(places []*place) []*place {
	gone := map[*yaml.Node]bool{}
	left := map[*yaml.Node]int{} // how many parts of a container are not gone
	goes := func(at *place) {
		if gone[at.node] || at.in == nil {
			return
		}
		gone[at.node] = true
		container := resolve(at.in.node)
		if _, known := left[container]; !known {
			left[container] = parts(container)
		}
		left[container]--
	}
	var wide []*place
	for _, at := range places {
		goes(at)
	}
	for _, at := range places {
		for at.in != nil && at.in.key != nil && !at.shared && left[resolve(at.in.node)] == 0 {
			at = at.in
			goes(at)
		}
		wide = append(wide, at)
	}
	wide = slices.DeleteFunc(wide, func(at *place) bool { // what another place, found later, holds as well
		for in := at.in; in != nil; in = in.in {
			if gone[in.node] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(wide, func(a, b *place) int { return a.first().Line - b.first().Line })
	return slices.CompactFunc(wide, func(a, b *place) bool { return a.node == b.node })
}

func parts(container *yaml.Node) int {
	if container.Kind == yaml.MappingNode {
		return len(container.Content) / 2
	}
	return len(container.Content)
}

// first is the node that the place begins with.
func (at *place) first() *yaml.Node {
	if at.key != nil {
		return at.key
	}
	return at.node
}

// sentence says what to delete there.
func (at *place) sentence(m source.Text, w written, others aliases) string {
	first, last := w.extent(at)
	lines := strconv.Itoa(first)
	if last > first {
		lines += fmt.Sprintf("-%d", last)
	}
	sentence := fmt.Sprintf("%s:%s: delete %q", m.Name, lines, at.snippet(last > first))
	if at.shared || others.leadInto(at) {
		sentence += "; an anchor stands there, which others use as well"
	}
	return sentence
}

// snippet is how the place begins, enough to know it by.
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
