package threeway

import (
	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// removal is a field of live that the merge is about to delete, because the manifest drops it or sets it to null.
type removal struct {
	live  *node
	place schema.Schema
	null  bool
}

func (r removal) verb() Verb {
	if r.null {
		return Cleared
	}
	return Deleted
}

// remove returns what is left of the field: a node without kind if nothing is. If Options.Keep is set, an object or list that
// merges is deleted part by part, so that kept parts and their parents stay.
func (m *merger) remove(r removal) (node, error) {
	if m.options.Keep == nil {
		m.record(r.verb(), r.live, nil)
		return node{}, nil
	}
	strategy := r.place.Strategy()
	switch {
	case r.live.Kind == '{' && strategy.Object != schema.ReplaceObject:
		return m.removeMembers(r)
	case r.live.Kind == '[' && strategy.List != schema.ReplaceList && strategy.List != schema.InferKey:
		return m.removeElements(r)
	default:
		return m.removeWhole(r), nil
	}
}

// removeWhole deletes or keeps the field as a whole.
func (m *merger) removeWhole(r removal) node {
	if m.keeps(r.verb(), r.live, nil) {
		return *r.live
	}
	m.record(r.verb(), r.live, nil)
	return node{}
}

func (m *merger) removeMembers(r removal) (node, error) {
	mark := len(m.changes)
	out, left := jsonnode.Builder{Live: r.live}, false
	for i := range r.live.Open() {
		c := &r.live.Children[i]
		m.enter(step{name: c.Name})
		result, err := m.remove(removal{live: &c.Node, place: r.place.Field(c.Name), null: r.null})
		m.leave()
		if err != nil {
			return node{}, err
		}
		out.Put(i, c.Name, result)
		left = left || !result.Absent()
	}
	return m.leftOf(r, out.Done(), left, mark), nil
}

func (m *merger) removeElements(r removal) (node, error) {
	live, err := m.indexed(inLive, r.live, r.place)
	if err != nil {
		return node{}, err
	}
	mark := len(m.changes)
	var left []member
	for i := range live.elements {
		m.enter(live.step(i))
		result := m.removeWhole(removal{live: &live.elements[i].Node, null: r.null})
		m.leave()
		if !result.Absent() {
			left = append(left, live.elements[i])
		}
	}
	if len(left) == len(live.elements) {
		return m.leftOf(r, *r.live, len(left) > 0, mark), nil
	}
	rest := node{Kind: '[', Children: left}
	return m.leftOf(r, rest, len(left) > 0, mark), nil
}

// leftOf returns what is left of a value that was deleted part by part. If nothing is left, it is deleted as a whole instead,
// with one change.
func (m *merger) leftOf(r removal, rest node, left bool, mark int) node {
	if left {
		return rest
	}
	m.changes = m.changes[:mark]
	return m.removeWhole(r)
}
