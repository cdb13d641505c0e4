package twoway

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// list merges the manifest's list over live's.
func (m merger) list(manifest, live []any, place schema.Schema) (any, outcome, error) {
	place, err := schemaOfLists(place, manifest, live)
	if err != nil {
		return nil, gone, err
	}
	strategy := place.Strategy()
	if isAtomic(strategy) {
		return manifest, put, nil
	}
	switch d, manifest, err := listDirectiveOf(manifest); {
	case err != nil || d == deletes:
		return nil, gone, err
	case d == replaces:
		merged, err := m.elements(manifest, strategy, place.Element())
		return merged, put, err
	case strategy.List == schema.MergeSet:
		return m.set(manifest, live)
	default:
		return m.keyed(manifest, live, strategy.Keys, place.Element())
	}
}

// newList returns the manifest's list for a field that live lacks.
func (m merger) newList(manifest []any, place schema.Schema) (any, outcome, error) {
	place, err := schemaOfLists(place, manifest, nil)
	if err != nil {
		return nil, gone, err
	}
	strategy := place.Strategy()
	if isAtomic(strategy) {
		return manifest, kept, nil
	}
	d, manifest, err := listDirectiveOf(manifest)
	if err != nil || d == deletes {
		return nil, gone, err
	}
	merged, err := m.elements(manifest, strategy, place.Element())
	return merged, put, err
}

func isAtomic(strategy schema.Strategy) bool {
	return strategy.List == schema.ReplaceList || strategy.List == schema.InferKey
}

// elements returns the manifest's list, which merges with nothing, without the elements that have $patch: delete.
func (m merger) elements(manifest []any, strategy schema.Strategy, place schema.Schema) ([]any, error) {
	if strategy.List == schema.MergeSet {
		return m.members(manifest)
	}
	if _, err := identify(manifest, strategy.Keys, inManifest); err != nil {
		return nil, err
	}
	merged, done := manifest, kept
	for i, from := range manifest {
		value, did, err := m.added(from, place)
		if err != nil {
			return nil, under(err, elementOf(from, strategy.Keys))
		}
		if did == kept {
			continue
		}
		if done == kept {
			merged, done = slices.Clone(manifest), put
		}
		merged[i] = value
		if did == gone {
			merged[i] = removed{}
		}
	}
	return without(merged, isRemoved), nil
}

// removed marks an element of a list to be removed.
type removed struct{}

func isRemoved(element any) bool {
	_, ok := element.(removed)
	return ok
}

// elementOf returns the path element of a keyed list's element.
func elementOf(element any, keys []string) fieldpath.PathElement {
	object, _ := element.(map[string]any)
	var named []any
	for _, key := range keys {
		if _, ok := identity(object, key); ok {
			named = append(named, key, plain(object[key]))
		}
	}
	return fieldpath.PathElement{Key: fieldpath.KeyByFields(named...)}
}

// keyed merges lists of objects element by element.
func (m merger) keyed(manifest, live []any, keys []string, place schema.Schema) (any, outcome, error) {
	if len(manifest) == 0 {
		return live, kept, nil
	}
	pairs, err := pair(manifest, live, keys)
	if err != nil {
		return nil, gone, err
	}
	merged, done := live, kept
	var added []any // by index in the manifest, for elements without a partner
	for i, from := range manifest {
		to := any(nil)
		at := pairs.partner[i]
		if at >= 0 && !isRemoved(merged[at]) {
			to = merged[at]
		}
		value, did, err := m.field(from, to, to != nil, place)
		if err != nil {
			return nil, gone, under(err, elementOf(from, keys))
		}
		if did == kept {
			continue
		}
		if did == gone {
			value = removed{}
		}
		if at < 0 {
			if added == nil {
				added = make([]any, len(manifest))
			}
			added[i] = value
			continue
		}
		if done == kept {
			merged, done = slices.Clone(live), put
		}
		merged[at] = value
	}
	if added == nil && done == kept && m.order == LiveFirst {
		return live, kept, nil
	}
	return m.ordered(merged, added, pairs), put, nil
}

// ordered returns the elements of a merged list in the order of the options. merged are live's elements; added are the
// manifest's new ones, each at its index in the manifest.
func (m merger) ordered(merged, added []any, pairs pairing) []any {
	list := make([]any, 0, len(merged)+len(pairs.partner))
	put := func(element any) {
		if element != nil && !isRemoved(element) {
			list = append(list, element)
		}
	}
	fresh := func(i int) {
		if added != nil {
			put(added[i])
		}
	}
	if m.order == LiveFirst {
		for _, element := range merged {
			put(element)
		}
	}
	placed := make([]bool, len(merged))
	for i, at := range pairs.partner {
		switch {
		case at < 0:
			fresh(i)
		case m.order == ManifestFirst && !pairs.several && !placed[at]:
			put(merged[at])
			placed[at] = true
		}
	}
	if m.order == ManifestFirst {
		for at, element := range merged {
			if !placed[at] {
				put(element)
			}
		}
	}
	return list
}

// set merges lists of scalars as ordered sets. 1 and "1" are the same member; the result has the later one.
func (m merger) set(manifest, live []any) (any, outcome, error) {
	if err := checkMembers(manifest, inManifest); err != nil {
		return nil, gone, err
	}
	if err := checkMembers(live, inLive); err != nil {
		return nil, gone, err
	}
	if m.order == ManifestFirst {
		return union(nil, slices.Concat(manifest, live)), put, nil
	}
	return union(live, manifest), put, nil
}

// members returns the manifest's set for a field that live lacks.
func (m merger) members(manifest []any) ([]any, error) {
	if err := checkMembers(manifest, inManifest); err != nil || m.order == LiveFirst {
		return manifest, err
	}
	return union(nil, manifest), nil
}

// union returns the list, followed by the members that it lacks.
func union(list, members []any) []any {
	all := make([]any, len(list), len(list)+len(members))
	at := make(map[string]int, cap(all))
	for i, member := range list {
		all[i] = member
		if _, twice := at[textOf(member)]; !twice {
			at[textOf(member)] = i
		}
	}
	for _, member := range members {
		text := textOf(member)
		if i, ok := at[text]; ok {
			all[i] = member
			continue
		}
		at[text] = len(all)
		all = append(all, member)
	}
	return all
}

// checkMembers returns ErrWrongKind unless all elements of a list are scalars.
func checkMembers(list []any, side string) error {
	for i, member := range list {
		switch member.(type) {
		case nil, map[string]any, []any, rawJSON:
			return under(wrong(side, ErrWrongKind, "it is %s in a set of scalars", kindName(member)), fieldpath.IndexElement(i))
		}
	}
	return nil
}
