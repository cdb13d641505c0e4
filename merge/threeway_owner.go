package merge

import "github.com/ownership-handoff/handoff/ownership"

// decided is a decision of the decision table, and whom it is about.
type decided struct {
	Decision
	owned ownership.Owned
}

// decide asks the decision table about the field at hand, which the merge is about to change or take away.
func (m *merger) decide(manifest ownership.Claim, base *node) decided {
	if m.options.Owner == nil {
		return decided{}
	}
	path := m.path()
	owned := m.options.Owner(path)
	return decided{owned: owned, Decision: Decide(Field{
		Owner: owned.Owner, Writer: ownership.Applier, Manifest: manifest, Base: claim(base), Changed: true,
		Scale: m.options.Scale != nil && m.options.Scale.Equals(path),
	})}
}

func claim(n *node) ownership.Claim {
	switch {
	case n == nil:
		return ownership.Lacks
	case n.kind == 'n':
		return ownership.Clears
	default:
		return ownership.Sets
	}
}

func nobody() ownership.Owned { return ownership.Owned{} }

// removal is a field of live that the merge is about to take away: the manifest lets go of it, or sets it to null.
type removal struct {
	live, base *node // base is nil where it lacks the field
	schema     Schema
	null       bool
}

// remove returns what is left of the field: a node without kind where it goes whole. What has parts goes part by part
// when owners have a say, so that a part whose owner keeps it stays, and the whole around it.
func (m *merger) remove(r removal) (node, error) {
	strategy := r.schema.Strategy()
	switch {
	case m.options.Owner == nil:
		m.record(r.verb(), r.live, nil, nobody(), 0)
		return node{}, nil
	case r.live.kind == '{' && strategy.Object != ReplaceObject:
		return m.removeMembers(r)
	case r.live.kind == '[' && strategy.List != ReplaceList:
		return m.removeElements(r)
	default:
		return m.removeWhole(r), nil
	}
}

// removeWhole asks about the field as a whole.
func (m *merger) removeWhole(r removal) node {
	manifest := ownership.Lacks
	if r.null {
		manifest = ownership.Clears
	}
	d := m.decide(manifest, r.base)
	if d.Verdict == Keep {
		m.record(FieldKept, r.live, r.live, d.owned, d.Row)
		return *r.live
	}
	m.record(r.verb(), r.live, nil, d.owned, d.Row)
	return node{}
}

func (m *merger) removeMembers(r removal) (node, error) {
	r.live.open()
	mark := m.mark()
	out, left := builder{live: r.live}, false
	for i := range r.live.children {
		c := &r.live.children[i]
		m.enter(step{name: c.name})
		result, err := m.remove(removal{live: &c.node, base: r.base.field(c.name, i), schema: r.schema.Field(c.name), null: r.null})
		m.leave()
		if err != nil {
			return node{}, err
		}
		out.put(i, c.name, result)
		left = left || result.kind != 0
	}
	return m.leftOf(r, out.done(), left, mark), nil
}

func (m *merger) removeElements(r removal) (node, error) {
	live, err := m.indexed(inLive, r.live, r.schema.Strategy())
	if err != nil {
		return node{}, err
	}
	base, err := m.indexed(inBase, r.base, r.schema.Strategy())
	if err != nil {
		return node{}, err
	}
	mark := m.mark()
	var left []member
	for i := range live.elements {
		m.enter(live.step(i))
		result := m.removeWhole(removal{live: &live.elements[i].node, base: base.find(live.ids[i], i), null: r.null})
		m.leave()
		if result.kind != 0 {
			left = append(left, live.elements[i])
		}
	}
	if len(left) == len(live.elements) {
		return m.leftOf(r, *r.live, len(left) > 0, mark), nil
	}
	rest := node{kind: '[', decoded: r.live.decoded, opened: true, children: left}
	return m.leftOf(r, rest, len(left) > 0, mark), nil
}

// leftOf returns what is left of something that went part by part; where that is nothing, it has gone as a whole.
func (m *merger) leftOf(r removal, rest node, left bool, mark int) node {
	if left {
		return rest
	}
	if m.options.Changes != nil {
		*m.options.Changes = (*m.options.Changes)[:mark]
	}
	return m.removeWhole(r)
}

// mark returns how many changes there are by now.
func (m *merger) mark() int {
	if m.options.Changes == nil {
		return 0
	}
	return len(*m.options.Changes)
}

func (r removal) verb() Verb {
	if r.null {
		return FieldCleared
	}
	return FieldDeleted
}
