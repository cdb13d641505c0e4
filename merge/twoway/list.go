package twoway

import (
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// list merges the manifest's list over live's, which is nil if live lacks the field.
func (m *merger) list(manifest, live *node, place schema.Schema) (*node, error) {
	place, err := m.schemaOfLists(place, manifest, live)
	if err != nil {
		return nil, err
	}
	strategy := place.Strategy()
	if strategy.List == schema.ReplaceList || strategy.List == schema.InferKey {
		return manifest, nil
	}
	d, manifest, err := m.listDirectiveOf(manifest)
	if err != nil || d == deletes {
		return nil, err
	}
	if d == replaces {
		live = nil
	}
	if strategy.List == schema.MergeSet {
		return m.set(manifest, live)
	}
	if live == nil {
		live = &node{Kind: '['}
	}
	return m.keyed(manifest, live, strategy, place.Element())
}

// listOf returns the list of some elements, without those that were removed.
func listOf(elements []member) *node {
	return &node{Kind: '[', Children: slices.DeleteFunc(elements, func(c member) bool { return c.Node.IsAbsent() })}
}

// keyed merges lists of objects element by element.
func (m *merger) keyed(manifest, live *node, strategy schema.Strategy, place schema.Schema) (*node, error) {
	if len(manifest.Children) == 0 {
		return live, nil
	}
	pairs, err := m.pair(manifest, live, strategy)
	if err != nil {
		return nil, err
	}
	merged := slices.Clone(live.Children)
	changed := false
	for i := range manifest.Children {
		from, to := &manifest.Children[i].Node, (*node)(nil)
		at := pairs.partner[i]
		if at < 0 {
			at, pairs.partner[i] = len(merged), len(merged)
			merged = append(merged, member{})
		}
		if !merged[at].Node.IsAbsent() {
			to = &merged[at].Node
		}
		m.at.Enter(step{Element: from, Keys: strategy.Keys, Defaults: strategy.Defaults})
		value, err := m.over(from, to, place)
		if err != nil {
			return nil, err
		}
		m.at.Leave()
		if value == nil {
			value = &node{}
		}
		if value != to || value.IsMade() {
			merged[at].Node, changed = *value, true
		}
	}
	switch {
	case m.order == ManifestFirst:
		return manifestFirst(merged, len(live.Children), pairs), nil
	case changed:
		return listOf(merged), nil
	default:
		return live, nil
	}
}

// manifestFirst returns the elements of a merged list in the order of ManifestFirst. merged are live's elements, of that number,
// followed by the manifest's new ones.
func manifestFirst(merged []member, inLive int, pairs pairing) *node {
	list := make([]member, 0, len(merged))
	placed := make([]bool, len(merged))
	for _, at := range pairs.partner {
		if !placed[at] && (at >= inLive || !pairs.several) {
			list = append(list, merged[at])
			placed[at] = true
		}
	}
	for at, element := range merged {
		if !placed[at] {
			list = append(list, element)
		}
	}
	return listOf(list)
}

// set merges lists of scalars as ordered sets. 1 and "1" are the same member; the result has the later one. live is nil if it lacks
// the field.
func (m *merger) set(manifest, live *node) (*node, error) {
	if err := m.checkMembers(manifest, inManifest); err != nil {
		return nil, err
	}
	switch {
	case live == nil && m.order == LiveFirst:
		return manifest, nil
	case live == nil:
		return union(nil, manifest.Children), nil
	}
	if err := m.checkMembers(live, inLive); err != nil {
		return nil, err
	}
	if m.order == ManifestFirst {
		return union(nil, slices.Concat(manifest.Children, live.Children)), nil
	}
	return union(live.Children, manifest.Children), nil
}

// union returns the list, followed by the members that it lacks.
func union(list, members []member) *node {
	all := slices.Grow(slices.Clone(list), len(members))
	at := make(map[string]int, cap(all))
	for i, member := range slices.Backward(list) {
		at[textOf(&member.Node)] = i // the first, if there are several
	}
	for _, member := range members {
		text := textOf(&member.Node)
		if i, ok := at[text]; ok {
			all[i] = member
			continue
		}
		at[text] = len(all)
		all = append(all, member)
	}
	return listOf(all)
}

// checkMembers returns ErrWrongKind unless all elements of a list are scalars.
func (m *merger) checkMembers(list *node, side string) error {
	for i := range list.Children {
		if member := &list.Children[i].Node; member.Kind == 'n' || member.IsContainer() {
			m.at.Enter(step{IsIndex: true, Index: i})
			return m.at.Wrong(side, ErrWrongKind, "it is %s in a set of scalars", member.Describe())
		}
	}
	return nil
}
