package manifest

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Widen replaces places by their parents if a parent has no other content, but never by a list element. It returns the places
// in the order of the document, without duplicates.
func Widen(places []*Place) []*Place {
	removed := map[*yaml.Node]bool{}
	left := map[*yaml.Node]int{} // number of remaining children by parent
	remove := func(at *Place) {
		if removed[at.Node] || at.in == nil {
			return
		}
		removed[at.Node] = true
		parent := resolve(at.in.Node)
		if _, known := left[parent]; !known {
			left[parent] = countChildren(parent)
		}
		left[parent]--
	}
	var wide []*Place
	for _, at := range places {
		remove(at)
	}
	for _, at := range places {
		for at.in != nil && at.in.Key != nil && !at.shared && left[resolve(at.in.Node)] == 0 {
			at = at.in
			remove(at)
		}
		wide = append(wide, at)
	}
	wide = slices.DeleteFunc(wide, func(at *Place) bool { // nested in another removed place
		for in := at.in; in != nil; in = in.in {
			if removed[in.Node] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(wide, func(a, b *Place) int { return a.first().Line - b.first().Line })
	return slices.CompactFunc(wide, func(a, b *Place) bool { return a.Node == b.Node })
}

func countChildren(node *yaml.Node) int {
	if node.Kind == yaml.MappingNode {
		return len(node.Content) / 2
	}
	return len(node.Content)
}

// first returns the node that the place begins with.
func (at *Place) first() *yaml.Node {
	if at.Key != nil {
		return at.Key
	}
	return at.Node
}

// Depths returns, for each place, the depth of the place in wide that contains it.
func Depths(places, wide []*Place) []int {
	in := map[*yaml.Node]bool{}
	for _, at := range wide {
		in[at.Node] = true
	}
	depths := make([]int, len(places))
	for i, at := range places {
		for up := at; up != nil; up = up.in {
			if in[up.Node] {
				depths[i] = up.Depth()
			}
		}
	}
	return depths
}
