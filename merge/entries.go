package merge

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// entryRestorer restores the managedFields entries of a write.
type entryRestorer struct {
	keeper *keeper

	pairs  []entryPair
	parts  []*part
	byNode []*part // by Node.ID
	scale  *part   // the one with the scale field, nil if there is none
	// parents are the missing parents that come back with nothing but kept fields. Each entry contains them as in live.
	parents *fieldpath.Set
	// unmanaged reports whether a kept field is in no entry of live: it was written through another API version.
	unmanaged bool
}

// part is a part of a kept object of which every entry manages the same as in live: a kept field, or the parent of the scale field
// that is restored with it.
type part struct {
	node  *fieldtree.Node
	scale bool
}

// restoreEntries returns the incoming managedFields entries in the API server's order, in which each part has the managers
// that it has in live. The exception is the Apply entry of the server-side applier that sends the write. It records what the
// manifest sets, as the last-applied annotation does for client-side apply, so a field that the manifest drops leaves it.
func (r *entryRestorer) restoreEntries(incoming []ownership.Entry) ([]ownership.Entry, error) {
	if len(r.pairs) == 0 {
		return ownership.InOrder(incoming), nil
	}
	restored := make([]ownership.Entry, len(r.pairs))
	for i := range r.pairs {
		var err error
		if restored[i], err = r.restore(r.pairs[i]); err != nil {
			return nil, err
		}
		if r.unmanaged && r.keeper.write.InOtherVersion(r.pairs[i].of.Live) {
			if restored[i], err = r.restoreOtherNames(r.pairs[i], restored[i]); err != nil {
				return nil, err
			}
		}
	}
	entries := restored[:0]
	for i := range r.pairs {
		wasEmpty := r.pairs[i].of.InIncoming && r.pairs[i].of.Incoming.IsEmpty()
		if !restored[i].IsEmpty() || wasEmpty {
			entries = append(entries, restored[i])
		}
	}
	return ownership.InOrder(entries), nil
}

// entryPair is the entries of one manager, with what they contain of the parts.
type entryPair struct {
	of ownership.Pair
	// liveSubsets and incomingSubsets are the subsets of the two field sets at the parts; empty unless the write changes the set.
	liveSubsets, incomingSubsets subsets
}

// subsets are the subsets of a field set at the parts that the set contains, as JSON.
type subsets map[*part][]byte

func (k *keeper) newEntryRestorer(incoming []ownership.Entry) *entryRestorer {
	r := &entryRestorer{keeper: k, byNode: make([]*part, k.tree.Len()), parents: &fieldpath.Set{}}
	if len(k.pieces) == 0 || !k.write.Live.Present() {
		return r // nothing to restore
	}
	for _, p := range k.pieces {
		scale := slices.ContainsFunc(p.kept, func(i int) bool { return k.kept[i].Field.Scale })
		if p.whole {
			r.addPart(p, p.top, scale)
			continue
		}
		for _, i := range p.kept {
			r.addPart(p, k.nodes[i], scale)
		}
	}
	managed := map[*part]bool{}
	r.pairs = make([]entryPair, 0, len(incoming)+1)
	for both := range ownership.Pairs(k.write.LiveEntries, incoming) {
		pair, live := entryPair{of: both}, r.subsetsOf(both.Live)
		for p := range live {
			managed[p] = true
		}
		if both.Changed() {
			pair.liveSubsets, pair.incomingSubsets = live, r.subsetsOf(both.Incoming)
		}
		r.pairs = append(r.pairs, pair)
	}
	r.unmanaged = slices.ContainsFunc(r.parts, func(p *part) bool { return !p.scale && !managed[p] })
	return r
}

// addPart adds a part of a piece, once. scale reports whether the piece has the scale field.
func (r *entryRestorer) addPart(of *piece, n *fieldtree.Node, scale bool) {
	if r.byNode[n.ID] != nil {
		return
	}
	p := &part{node: n, scale: scale}
	for parent := n; parent != of.top; {
		parent = parent.Parent()
		r.parents.Insert(parent.Path())
	}
	if p.scale {
		r.scale = p
	}
	r.parts = append(r.parts, p)
	r.byNode[n.ID] = p
}

// isSendersApply reports whether an entry is the Apply entry of the server-side applier that sends the write.
func (k *keeper) isSendersApply(e ownership.Entry) bool {
	return k.write.Sender.ServerSide() && k.write.Sender.Entry.Same(e)
}

// subsetsOf returns the subsets of an entry's field set at the parts that the entry manages.
func (r *entryRestorer) subsetsOf(e ownership.Entry) subsets {
	found := subsets{}
	r.keeper.tree.Managed(e.Fields, func(n *fieldtree.Node, set *jsontree.Node) {
		if p := r.byNode[n.ID]; p != nil {
			found[p] = set.Text()
		}
	})
	if r.scale != nil && r.keeper.write.InOtherVersion(e) {
		delete(found, r.scale)
		if e.Contains(r.scalePathIn(e)) {
			found[r.scale] = []byte("{}")
		}
	}
	return found
}

// scalePathIn returns the path of the scale field in the API version of an entry.
func (r *entryRestorer) scalePathIn(e ownership.Entry) fieldpath.Path {
	if in := r.keeper.write.Managers.Scale; in != nil {
		return in(e.APIVersion)
	}
	return r.scale.node.Path()
}

// restore returns an entry with its field set restored at the parts.
func (r *entryRestorer) restore(pair entryPair) (ownership.Entry, error) {
	if !pair.of.Changed() {
		return pair.of.Incoming, nil
	}
	gained, lost := r.toUndo(pair)
	parents := r.parents
	if r.keeper.isSendersApply(pair.of.Entry()) {
		parents = &fieldpath.Set{}
	}
	if len(gained)+len(lost) == 0 && parents.Empty() {
		return pair.of.Incoming, nil
	}
	incoming, err := pair.of.Incoming.Set()
	if err != nil {
		return pair.of.Incoming, err
	}
	live, err := pair.of.Live.Set()
	if err != nil {
		return pair.of.Incoming, err
	}
	set := incoming.RecursiveDifference(r.pathsOf(gained, pair)).RecursiveDifference(r.pathsOf(lost, pair))
	set = set.Union(r.subset(live, lost, pair)).Union(live.Intersection(parents))
	if set.Equals(incoming) && pair.of.InIncoming {
		return pair.of.Incoming, nil
	}
	return pair.of.Entry().WithSet(set)
}

// toUndo returns the parts that an entry has gained and must not manage, and those that it has lost, in whole or in part,
// and is to manage as in live.
func (r *entryRestorer) toUndo(pair entryPair) (gained, lost []*part) {
	for p := range pair.incomingSubsets {
		if pair.liveSubsets[p] == nil {
			gained = append(gained, p)
		}
	}
	if r.keeper.isSendersApply(pair.of.Entry()) {
		return gained, nil
	}
	for p, text := range pair.liveSubsets {
		if !bytes.Equal(pair.incomingSubsets[p], text) {
			lost = append(lost, p)
		}
	}
	return gained, lost
}

// pathsOf returns the paths of parts in the API version of an entry. It sorts the parts by their place in the tree: a Set keeps its
// members sorted, so that filling it in another order takes quadratic time.
func (r *entryRestorer) pathsOf(parts []*part, pair entryPair) *fieldpath.Set {
	set := fieldpath.NewSet()
	slices.SortFunc(parts, func(a, b *part) int { return a.node.ID - b.node.ID })
	for _, p := range parts {
		set.Insert(r.pathOf(p, pair))
	}
	return set
}

func (r *entryRestorer) pathOf(p *part, pair entryPair) fieldpath.Path {
	if e := pair.of.Entry(); p.scale && r.keeper.write.InOtherVersion(e) {
		return r.scalePathIn(e)
	}
	return p.node.Path()
}

// subset returns the elements of a set at parts and nested under them.
func (r *entryRestorer) subset(set *fieldpath.Set, parts []*part, pair entryPair) *fieldpath.Set {
	return set.Difference(set.RecursiveDifference(r.pathsOf(parts, pair)))
}

// restoreOtherNames returns an entry that was recorded in another API version with the fields that the live object does not have at
// their path, because they have another name in the write's version. It is called if a kept field has no manager in this version.
func (r *entryRestorer) restoreOtherNames(pair entryPair, restored ownership.Entry) (ownership.Entry, error) {
	if !pair.of.Changed() || r.keeper.write.Managers.IsApplier(pair.of.Live) {
		return restored, nil
	}
	now, err := restored.Set()
	if err != nil {
		return restored, err
	}
	live, err := pair.of.Live.Set()
	if err != nil {
		return restored, err
	}
	tree := &fieldtree.Tree{}
	live.Difference(now).Iterate(func(path fieldpath.Path) { tree.Add(path.Copy()) })
	places := tree.Find(r.keeper.write.Live.At())
	set := now
	for _, n := range tree.Nodes() {
		if n.Wanted && places.Of(n) == nil {
			set.Insert(n.Path())
		}
	}
	if !pair.of.InIncoming && set.Equals(live) {
		return pair.of.Live, nil
	}
	return pair.of.Entry().WithSet(set)
}
