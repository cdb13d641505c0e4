package manifest

import "go.yaml.in/yaml/v3"

// Widen returns for each of several places to remove the place to remove instead: its outermost ancestor that would have no other
// content, but never a list element.
func Widen(places []*Place) []*Place {
	removed := map[*yaml.Node]bool{}
	left := map[*yaml.Node]int{} // the number of remaining nodes of a collection
	for _, at := range places {
		for at.in != nil && !removed[at.Node] {
			removed[at.Node] = true
			parent := at.in.collection()
			if _, known := left[parent]; !known {
				left[parent] = len(parent.Content)
			}
			left[parent]--
			if at.Key != nil { // of a mapping
				left[parent]--
			}
			if left[parent] > 0 || at.in.Key == nil || at.shared {
				break
			}
			at = at.in
		}
	}
	wide := make([]*Place, len(places))
	for i, at := range places {
		for wide[i] = at; at.in != nil; at = at.in {
			if removed[at.in.Node] {
				wide[i] = at.in
			}
		}
	}
	return wide
}
