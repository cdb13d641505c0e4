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

	// isPart reports, by Node.ID, which nodes are parts: each entry manages the same of a part as in live. A part is a kept field, or
	// the parent of the scale field that is restored with it; scale is this one, nil if there is none.
	isPart []bool
	scale  *fieldtree.Node
	// shared are the atomic fields of which the write changes more than is kept, so that the sender manages them as well.
	shared map[*fieldtree.Node]bool
	// recorded is the node of ownership.AppliedAnnotation, nil if the rewrite does not set it. No entry contains it afterwards.
	recorded *fieldtree.Node
	// parents are the missing parents that come back with nothing but kept fields. Each entry contains them as in live.
	parents *fieldpath.Set
	// unmanaged reports whether a kept field is in no entry of live: it was written through another API version.
	unmanaged bool
}

func (k *keeper) newEntryRestorer() *entryRestorer {
	r := &entryRestorer{keeper: k, isPart: make([]bool, k.tree.Len()), parents: &fieldpath.Set{}, shared: k.changedAtomics()}
	if !k.write.Live.Present() {
		return r // nothing to restore
	}
	for _, p := range k.pieces {
		if atomic := p.inside(); atomic != nil {
			r.isPart[atomic.ID] = true
			continue
		}
		if p.whole {
			r.isPart[p.top.ID] = true
		}
		for _, f := range p.fields {
			n := f.node
			if p.whole {
				n = p.top
			}
			switch {
			case f.change.Field.Scale:
				r.scale = n
			case f.change.Decision.Verdict == Record:
				r.recorded = n
			}
			for r.isPart[n.ID] = true; n != p.top; {
				n = n.Parent()
				r.parents.Insert(n.Path())
			}
		}
	}
	managed := map[*fieldtree.Node]bool{r.scale: true, r.recorded: true}
	for _, e := range k.write.LiveEntries {
		for _, p := range r.partsIn(e) {
			managed[p.node] = true
		}
	}
	r.unmanaged = slices.ContainsFunc(k.tree.Nodes(), func(n *fieldtree.Node) bool { return r.isPart[n.ID] && !managed[n] })
	return r
}

// restoreEntries returns the incoming managedFields entries in the API server's order, in which each part has the managers
// that it has in live. The exception is the Apply entry of the server-side applier that sends the write. It records what the
// manifest sets, as the last-applied annotation does for client-side apply, so a field that the manifest drops leaves it.
func (r *entryRestorer) restoreEntries(incoming []ownership.Entry) ([]ownership.Entry, error) {
	if len(r.keeper.pieces) == 0 || !r.keeper.write.Live.Present() {
		return ownership.InOrder(incoming), nil
	}
	entries := make([]ownership.Entry, 0, len(incoming)+1)
	for pair := range ownership.Pairs(r.keeper.write.LiveEntries, incoming) {
		e, err := r.restore(pair)
		if err == nil && r.unmanaged && r.keeper.write.InOtherVersion(pair.Live) {
			e, err = r.restoreOtherNames(pair, e)
		}
		if err != nil {
			return nil, err
		}
		if wasEmpty := pair.InIncoming && pair.Incoming.IsEmpty(); wasEmpty || !e.IsEmpty() {
			entries = append(entries, e)
		}
	}
	return ownership.InOrder(entries), nil
}

// isSendersApply reports whether an entry is the Apply entry of the server-side applier that sends the write.
func (k *keeper) isSendersApply(e ownership.Entry) bool {
	return k.write.Sender.ServerSide() && k.write.Sender.Entry.Same(e)
}

// restore returns an entry that manages the same of the parts as in live.
func (r *entryRestorer) restore(pair ownership.Pair) (ownership.Entry, error) {
	if !pair.Changed() && (r.recorded == nil || !pair.Incoming.Contains(ownership.AppliedPath())) {
		return pair.Incoming, nil
	}
	had, has, parents := r.partsToKeep(pair.Live), r.partsIn(pair.Incoming), r.parents
	if r.keeper.isSendersApply(pair.Entry()) {
		has = slices.DeleteFunc(has, func(p managedPart) bool {
			_, before := slices.BinarySearchFunc(had, p, managedPart.compare)
			return before
		})
		had, parents = nil, &fieldpath.Set{}
	}
	if slices.Equal(had, has) && parents.Empty() {
		return pair.Incoming, nil // whatever else its set contains is not read
	}
	incoming, err := pair.Incoming.Set()
	if err != nil {
		return pair.Incoming, err
	}
	live, err := pair.Live.Set()
	if err != nil {
		return pair.Incoming, err
	}
	set := incoming.RecursiveDifference(r.pathsOf(has, pair.Entry()))
	set = set.Union(live.Difference(live.RecursiveDifference(r.pathsOf(had, pair.Entry())))).Union(live.Intersection(parents))
	if set.Equals(incoming) && pair.InIncoming {
		return pair.Incoming, nil
	}
	return pair.Entry().WithSet(set)
}

// changedAtomics returns the atomic fields of which the write changes more than the kept fields.
func (k *keeper) changedAtomics() map[*fieldtree.Node]bool {
	kept, changed := map[*fieldtree.Node][]*jsontree.Node{}, map[*fieldtree.Node]bool{}
	for _, p := range k.pieces {
		atomic := p.inside()
		if atomic == nil {
			continue
		}
		kept[atomic] = append(kept[atomic], k.live.Of(p.top), k.incoming.Of(p.top))
		changed[atomic] = changed[atomic] || !bytes.Equal(p.value, k.live.Of(p.top).Text())
	}
	for atomic, ignored := range kept {
		changed[atomic] = changed[atomic] || !jsontree.EqualBut(k.live.Of(atomic), k.incoming.Of(atomic), ignored...)
	}
	return changed
}

// managedPart is a part that a field set contains, in whole or in part, with the subset there as JSON.
type managedPart struct {
	node   *fieldtree.Node
	subset string
}

// compare compares parts by their place in the tree.
func (p managedPart) compare(other managedPart) int { return p.node.ID - other.node.ID }

// partsIn returns the parts that an entry's field set contains, in the order of the tree.
func (r *entryRestorer) partsIn(e ownership.Entry) (parts []managedPart) {
	otherScale := r.scale != nil && r.keeper.write.InOtherVersion(e)
	isSender := e.Same(r.keeper.write.Sender.Entry)
	r.keeper.tree.Managed(e.Fields, func(n *fieldtree.Node, subset *jsontree.Node) {
		if r.isPart[n.ID] && (!otherScale || n != r.scale) && (!isSender || !r.shared[n]) {
			parts = append(parts, managedPart{n, string(subset.Text())})
		}
	})
	if otherScale && e.Contains(r.scalePathIn(e)) {
		parts = append(parts, managedPart{r.scale, "{}"})
	}
	slices.SortFunc(parts, managedPart.compare)
	return parts
}

// partsToKeep returns the parts that an entry of live contains and must contain afterwards.
func (r *entryRestorer) partsToKeep(e ownership.Entry) []managedPart {
	return slices.DeleteFunc(r.partsIn(e), func(p managedPart) bool { return p.node == r.recorded })
}

// scalePathIn returns the path of the scale field in the API version of an entry.
func (r *entryRestorer) scalePathIn(e ownership.Entry) fieldpath.Path {
	if in := r.keeper.write.Managers.Scale; in != nil {
		return in(e.APIVersion)
	}
	return r.scale.Path()
}

// pathsOf returns the paths of parts in the API version of an entry. The parts are sorted by their place in the tree: a Set keeps its
// members sorted, so that filling it in another order takes quadratic time.
func (r *entryRestorer) pathsOf(parts []managedPart, e ownership.Entry) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, p := range parts {
		if p.node == r.scale && r.keeper.write.InOtherVersion(e) {
			set.Insert(r.scalePathIn(e))
			continue
		}
		set.Insert(p.node.Path())
	}
	return set
}

// restoreOtherNames returns an entry that was recorded in another API version with the fields that the live object does not have at
// their path, because they have another name in the write's version. It is called if a kept field has no manager in this version.
func (r *entryRestorer) restoreOtherNames(pair ownership.Pair, restored ownership.Entry) (ownership.Entry, error) {
	if !pair.Changed() || r.keeper.write.Managers.IsApplier(pair.Live) {
		return restored, nil
	}
	now, err := restored.Set()
	if err != nil {
		return restored, err
	}
	live, err := pair.Live.Set()
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
	if !pair.InIncoming && set.Equals(live) {
		return pair.Live, nil
	}
	return pair.Entry().WithSet(set)
}
