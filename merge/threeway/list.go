package threeway

import (
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// list merges a manifest's keyed list or set into that of live. Equal lists are one.
func (m *merger) list(f field) (node, error) {
	if equal(f.manifest, f.live) {
		if err := m.examineList(f.manifest, f.place); err != nil {
			return node{}, err
		}
		if f.base == nil || equal(f.base, f.manifest) {
			return *f.live, nil
		}
		return *f.live, m.compare(f.base, f.manifest, f.place, true)
	}
	l := lists{strategy: f.place.Strategy(), element: f.place.Element(), whole: f}
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
	for _, other := range []elements{l.live, l.base} {
		if err := m.sameKinds(l.manifest, other); err != nil {
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
	strategy             schema.Strategy
	element              schema.Schema
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
		var err error
		m.enter(l.manifest.step(i))
		if at := l.live.at(l.manifest.ids[i], i); at < 0 {
			l.places[i], err = m.addElement(l, i)
		} else {
			l.places[i], err = at, m.mergeElement(l, i, at)
		}
		m.leave()
		if err != nil {
			return err
		}
	}
	return nil
}

// addElement adds the manifest's element to the results, and returns its place there.
func (m *merger) addElement(l *lists, i int) (int, error) {
	want := &l.manifest.elements[i].node
	if err := m.compare(l.base.find(l.manifest.ids[i], i), want, l.element, false); err != nil {
		return 0, err
	}
	l.results = append(l.results, member{"", *want}) // with its nulls, as strategicpatch appends it
	l.edited = true
	m.record(Added, nil, want)
	return len(l.results) - 1, nil
}

// mergeElement merges the manifest's element into that of live. Elements of a set are the same.
func (m *merger) mergeElement(l *lists, i, at int) error {
	if l.strategy.List != schema.MergeByKey {
		return nil
	}
	want, had := &l.manifest.elements[i].node, &l.live.elements[at].node
	result, err := m.object(l.base.find(l.manifest.ids[i], i), want, had, l.element)
	if err != nil || same(&result, had) {
		return err
	}
	if l.manifest.ids[i].kind == 'n' {
		return m.wrong(inManifest, ErrNoKey, "%s is null, and the element would change", l.strategy.Keys[0])
	}
	l.results[at].node, l.edited = result, true
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
		left := m.removeWhole(removal{live: &l.live.elements[at].node})
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
	if l.strategy.List == schema.MergeSet && l.keepsOrder() {
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
		m.record(Set, live, &list)
	}
	return list
}

func (l *lists) inOrder(out []int) bool {
	return len(out) == len(l.live.elements) && slices.IsSorted(out)
}

// interleave returns the places in results of the merged list's elements: those of the manifest in its order, and in
// between, as far as that can be, those that only live has, in live's order. That is the order of
// https://git.k8s.io/design-proposals-archive/cli/preserve-order-in-strategic-merge-patch.md: of two elements at hand,
// the one that only live has goes first when live has it before the other.
//
// A new element has no place in live. Yet as many of them as elements go take the places at the end of live's list: so
// it is in strategicpatch, where they come to stand in the memory of the list that it compares with.
func (l *lists) interleave() []int {
	inLive := len(l.live.elements)
	mentioned := make([]bool, inLive)
	for _, at := range l.places {
		if at < inLive {
			mentioned[at] = true
		}
	}
	placed := inLive
	if l.strategy.List == schema.MergeByKey {
		placed += l.removed
	}
	out := make([]int, 0, len(l.results))
	next := 0
	only := func(before int) {
		for ; next < inLive && next < before; next++ {
			if !mentioned[next] && l.results[next].kind != 0 {
				out = append(out, next)
			}
		}
	}
	for _, at := range l.places {
		if at < placed {
			only(at)
		}
		out = append(out, at)
	}
	only(inLive)
	return out
}

// keepsOrder says whether a set stays in live's order although the manifest has another: strategicpatch sorts live's
// values before it looks whether their order is the manifest's, and so does not see that a manifest that is sorted
// itself has another. It looks only where the manifest lets go of nothing.
func (l *lists) keepsOrder() bool {
	if l.edited || l.letGo || len(l.live.ids) != len(l.manifest.ids) {
		return false
	}
	return slices.IsSortedFunc(l.manifest.ids, func(a, b elementID) int { return strings.Compare(a.text, b.text) })
}
