package threeway

import (
	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// remove deletes a field of live that the manifest drops or sets to null, and returns what is left of it, nil if nothing is. If
// Options.Keep is set, an object or list that merges is deleted part by part, so that kept parts and their parents stay.
func (m *merger) remove(live *node, place schema.Schema, verb Verb) (*node, error) {
	strategy := place.Strategy()
	switch {
	case m.options.Keep == nil:
		return m.removeWhole(live, verb), nil
	case live.Kind == '{' && strategy.Object != schema.ReplaceObject:
		return m.removeMembers(live, place, verb)
	case live.Kind == '[' && strategy.List != schema.ReplaceList && strategy.List != schema.InferKey:
		return m.removeElements(live, place, verb)
	default:
		return m.removeWhole(live, verb), nil
	}
}

// removeWhole deletes or keeps the field as a whole.
func (m *merger) removeWhole(live *node, verb Verb) *node {
	if m.keeps(verb, live, nil) {
		return live
	}
	m.record(verb, live, nil)
	return nil
}

func (m *merger) removeMembers(live *node, place schema.Schema, verb Verb) (*node, error) {
	mark := len(m.changes)
	out, left := jsonnode.Builder{Live: live}, false
	for i := range live.Children {
		c := &live.Children[i]
		m.at.Enter(step{Name: c.Name})
		result, err := m.remove(&c.Node, place.Field(c.Name), verb)
		if err != nil {
			return nil, err
		}
		m.at.Leave()
		out.Put(i, c.Name, result)
		left = left || result != nil
	}
	if left {
		return out.Done(), nil
	}
	return m.removeEmptied(live, verb, mark), nil
}

func (m *merger) removeElements(live *node, place schema.Schema, verb Verb) (*node, error) {
	elements, err := m.indexed(inLive, live, place)
	if err != nil {
		return nil, err
	}
	mark := len(m.changes)
	var left []member
	for i := range elements.list {
		m.at.Enter(elements.step(i))
		if m.removeWhole(&elements.list[i].Node, verb) != nil {
			left = append(left, elements.list[i])
		}
		m.at.Leave()
	}
	switch len(left) {
	case 0:
		return m.removeEmptied(live, verb, mark), nil
	case len(elements.list):
		return live, nil
	default:
		return &node{Kind: '[', Children: left}, nil
	}
}

// removeEmptied deletes a value of which nothing is left as a whole, with one change instead of those since the mark.
func (m *merger) removeEmptied(live *node, verb Verb, mark int) *node {
	m.changes = m.changes[:mark]
	return m.removeWhole(live, verb)
}
