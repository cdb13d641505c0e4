package merge

import "slices"

// list merges a manifest's keyed list or set into that of live. Equal lists are one: what is in them is not looked at.
func (m *merger) list(f field) (node, error) {
	if equal(f.manifest, f.live) {
		return *f.live, nil
	}
	l := lists{strategy: f.schema.Strategy(), element: f.schema.Element(), whole: f}
	var err error
	if l.live, err = m.indexed(inLive, f.live, l.strategy); err != nil {
		return node{}, err
	}
	if l.manifest, err = m.indexed(inManifest, f.manifest, l.strategy); err != nil {
		return node{}, err
	}
	l.base = l.manifest
	if f.base == nil || f.base.text == "" || f.base.text != f.manifest.text { // texts that are equal are read once
		if l.base, err = m.indexed(inBase, f.base, l.strategy); err != nil {
			return node{}, err
		}
	}
	l.results = make([]member, len(l.live.elements), len(l.live.elements)+len(l.manifest.elements))
	copy(l.results, l.live.elements)
	if err := m.mergeElements(&l); err != nil {
		return node{}, err
	}
	m.letGoElements(&l)
	return m.arranged(&l), nil
}

// lists are the three inputs of a list's merge, and what becomes of it.
type lists struct {
	base, manifest, live elements
	strategy             Strategy
	element              Schema
	whole                field
	// results are what becomes of live's elements, a node without kind where one goes, and behind them the new ones.
	results []member
	// places says where in results the manifest's elements are, in its order.
	places  []int
	edited  bool // an element has come, gone or changed
	removed int  // how many of live's elements go
	letGo   bool // the base has an element that the manifest lacks
}

// mergeElements merges the manifest's elements into those of live, and adds those that live lacks.
func (m *merger) mergeElements(l *lists) error {
	l.places = make([]int, len(l.manifest.elements))
	for i := range l.manifest.elements {
		want := &l.manifest.elements[i].node
		at := l.live.at(l.manifest.ids[i], i)
		m.enter(l.manifest.step(i))
		if at < 0 {
			at = len(l.results)
			l.results = append(l.results, member{"", *want}) // with its nulls, as strategicpatch appends it
			l.edited = true
			m.record(FieldAdded, nil, want, nobody(), 0)
		} else if l.strategy.List == MergeByKey {
			had := &l.live.elements[at].node
			base := l.base.find(l.manifest.ids[i], i)
			result, err := m.object(base, want, had, l.element)
			if err != nil {
				return err
			}
			l.edited = l.edited || !same(&result, had)
			l.results[at].node = result
		}
		m.leave()
		l.places[i] = at
	}
	return nil
}

// letGoElements takes away the elements that the base has and the manifest lacks.
func (m *merger) letGoElements(l *lists) {
	for i, id := range l.base.ids {
		if l.manifest.at(id, i) >= 0 {
			continue
		}
		l.letGo = true
		at := l.live.at(id, i)
		if at < 0 {
			continue
		}
		m.enter(l.live.step(at))
		left := m.removeWhole(removal{live: &l.live.elements[at].node, base: &l.base.elements[i].node})
		m.leave()
		if left.kind == 0 {
			l.results[at].node = left
			l.removed, l.edited = l.removed+1, true
		}
	}
}

// arranged returns the list in its order.
func (m *merger) arranged(l *lists) node {
	live := l.whole.live
	if l.strategy.List == MergeSet && l.keepsOrder() {
		return *live
	}
	out := l.interleave()
	if !l.edited && l.inOrder(out) {
		return *live
	}
	list := node{kind: '[', decoded: live.decoded, opened: true, children: make([]member, len(out))}
	for i, at := range out {
		list.children[i] = l.results[at]
	}
	if !l.edited {
		m.record(FieldSet, live, &list, nobody(), 0)
	}
	return list
}

func (l *lists) inOrder(out []int) bool {
	return len(out) == len(l.live.elements) && slices.IsSorted(out)
}
