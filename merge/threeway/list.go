package threeway

import (
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// list merges a manifest's keyed list or set into live's.
func (m *merger) list(f field) (*node, error) {
	if f.place.Strategy().List == schema.InferKey {
		return nil, m.noStrategy()
	}
	if jsonnode.Equal(f.manifest, f.live) {
		if err := m.compareLists(f.manifest, f.manifest, f.place, true); err != nil {
			return nil, err
		}
		if f.base == nil || jsonnode.Equal(f.base, f.manifest) {
			return f.live, nil
		}
		return f.live, m.compare(f.base, f.manifest, f.place, true)
	}
	l := lists{strategy: f.place.Strategy(), element: f.place.Element(), whole: f}
	var err error
	if l.live, err = m.indexed(inLive, f.live, f.place); err != nil {
		return nil, err
	}
	if l.manifest, err = m.indexed(inManifest, f.manifest, f.place); err != nil {
		return nil, err
	}
	l.base = l.manifest
	if base := sameAs(f.base, f.manifest); base != f.manifest {
		if l.base, err = m.indexed(inBase, base, f.place); err != nil {
			return nil, err
		}
	}
	for _, other := range []elements{l.live, l.base} {
		if err := m.sameKinds(l.manifest, other); err != nil {
			return nil, err
		}
	}
	l.results = make([]member, len(l.live.list), len(l.live.list)+len(l.manifest.list))
	copy(l.results, l.live.list)
	if err := m.mergeElements(&l); err != nil {
		return nil, err
	}
	m.dropElements(&l)
	return m.arranged(&l), nil
}

// lists is the state of a list's merge.
type lists struct {
	base, manifest, live elements
	strategy             schema.Strategy
	element              schema.Schema
	whole                field
	// results are live's elements after the merge, with a node without kind for a deleted one, followed by the new elements.
	results []member
	// places are the indexes in results of the manifest's elements, in the manifest's order.
	places  []int
	edited  bool // an element was added, deleted or changed
	removed int  // the number of live's elements that are deleted
	drops   bool // the base has an element that the manifest lacks
}

// mergeElements merges the manifest's elements into those of live, and adds those that live lacks.
func (m *merger) mergeElements(l *lists) error {
	l.places = make([]int, len(l.manifest.list))
	for i := range l.manifest.list {
		m.at.Enter(l.manifest.step(i))
		at, inLive := l.live.index[l.manifest.ids[i]]
		var err error
		if inLive {
			err = m.mergeElement(l, i, at)
		} else {
			at, err = m.addElement(l, i)
		}
		if l.places[i] = at; err != nil {
			return err
		}
		m.at.Leave()
	}
	return nil
}

// addElement adds the manifest's element at index i to the results, and returns its index there.
func (m *merger) addElement(l *lists, i int) (int, error) {
	want := &l.manifest.list[i].Node
	if err := m.compare(l.base.find(l.manifest.ids[i], i), want, l.element, false); err != nil {
		return 0, err
	}
	l.results = append(l.results, member{Node: *want}) // with its nulls, like strategicpatch
	l.edited = true
	m.record(Added, nil, want)
	return len(l.results) - 1, nil
}

// mergeElement merges the manifest's element at index i into live's at index at. Equal elements of a set need no merge.
func (m *merger) mergeElement(l *lists, i, at int) error {
	if l.strategy.List != schema.MergeByKey {
		return nil
	}
	want, had := &l.manifest.list[i].Node, &l.live.list[at].Node
	result, err := m.object(l.base.find(l.manifest.ids[i], i), want, had, l.element)
	if err != nil || result == had {
		return err
	}
	if l.manifest.ids[i].kind == 'n' {
		return m.at.Wrong(inManifest, ErrNoKey, "%s is null, and the element would change", l.strategy.Keys[0])
	}
	l.results[at].Node, l.edited = *result, true
	return nil
}

// dropElements deletes the elements that the base has and the manifest lacks.
func (m *merger) dropElements(l *lists) {
	for i, id := range l.base.ids {
		if l.manifest.find(id, i) != nil {
			continue
		}
		l.drops = true
		at, inLive := l.live.index[id]
		if !inLive {
			continue
		}
		m.at.Enter(l.live.step(at))
		m.record(Deleted, &l.live.list[at].Node, nil)
		m.at.Leave()
		l.results[at].Node = node{}
		l.removed, l.edited = l.removed+1, true
	}
}

// arranged returns the merged list, in its order.
func (m *merger) arranged(l *lists) *node {
	live := l.whole.live
	if l.strategy.List == schema.MergeSet && l.keepsOrder() {
		return live
	}
	out := l.interleave()
	if !l.edited && slices.IsSorted(out) {
		return live
	}
	list := &node{Kind: '[', Children: make([]member, len(out))}
	for i, at := range out {
		list.Children[i] = l.results[at]
	}
	if !l.edited {
		m.record(Set, live, list)
	}
	return list
}

// interleave returns the indexes in results of the merged list's elements, in order: the manifest's elements in its order and,
// between them as far as possible, the elements that only live has, in live's order. That is the order of
// https://git.k8s.io/design-proposals-archive/cli/preserve-order-in-strategic-merge-patch.md: an element that only live has
// goes before an element of the manifest if it does so in live.
//
// A new element has no position in live. But as many new elements as are deleted take the positions at the end of live's list.
// The reason is strategicpatch: it appends them in the memory of the list that it compares with.
func (l *lists) interleave() []int {
	inLive := len(l.live.list)
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
	appendLiveOnly := func(before int) {
		for ; next < min(before, inLive); next++ {
			if !mentioned[next] && !l.results[next].Node.IsAbsent() {
				out = append(out, next)
			}
		}
	}
	for _, at := range l.places {
		if at < placed {
			appendLiveOnly(at)
		}
		out = append(out, at)
	}
	appendLiveOnly(inLive)
	return out
}

// keepsOrder reports whether a set keeps live's order although the manifest has another. strategicpatch sorts live's values
// before it compares their order with the manifest's, so it does not notice the difference if the manifest is sorted. It
// compares only if the manifest drops nothing.
func (l *lists) keepsOrder() bool {
	if l.edited || l.drops || len(l.live.ids) != len(l.manifest.ids) {
		return false
	}
	return slices.IsSortedFunc(l.manifest.ids, func(a, b elementID) int { return strings.Compare(a.text, b.text) })
}
