package merge

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

// parts are the parts of an object whose managedFields entries the rewrite sets.
type parts struct {
	// kept reports, by Node.ID, of which nodes each entry manages the same as in live: of kept fields, and of the parent of the scale
	// field that is restored with it. gone are those that no entry manages afterwards: cleared fields and ownership.AppliedAnnotation.
	kept, gone []bool
	// scale is the node of the scale field, or of its restored parent; nil if it is not kept.
	scale *fieldtree.Node
	// shared are the atomic fields of which the write changes more than is kept, so that the sender manages them as well.
	shared map[*fieldtree.Node]bool
	// parents are the missing parents that come back with nothing but kept fields. Each entry contains them as in live.
	parents *fieldpath.Set
}

// findParts determines the parts. An object that the write creates has none: its creator manages the scale field until the autoscaler
// writes it.
func (k *keeper) findParts() {
	k.parts = parts{kept: make([]bool, k.tree.Len()), gone: make([]bool, k.tree.Len()), shared: k.changedAtomics(), parents: &fieldpath.Set{}}
	if !k.write.Live.Present() {
		return
	}
	for _, f := range k.fields {
		if verdict := f.change.Decision.Verdict; verdict == Clear || verdict == Record {
			k.parts.gone[f.node.ID] = true
		}
	}
	for _, p := range k.pieces {
		if atomic := p.inside(); atomic != nil {
			k.parts.kept[atomic.ID] = true
			continue
		}
		for _, f := range p.fields {
			n := f.node
			if p.whole {
				n = p.top
			}
			if f.change.Field.Scale {
				k.parts.scale = n
			}
			for k.parts.kept[n.ID] = !k.parts.gone[n.ID]; n != p.top; {
				n = n.Parent()
				k.parts.parents.Insert(n.Path())
			}
		}
	}
}

// inside returns the atomic field that contains the piece, nil if there is none.
func (p *piece) inside() *fieldtree.Node {
	atomic := p.fields[0].atomic
	if atomic == nil || atomic.Depth() >= p.top.Depth() {
		return nil
	}
	return atomic
}

// changedAtomics returns the atomic fields of which the write changes more than the kept fields.
func (k *keeper) changedAtomics() map[*fieldtree.Node]bool {
	kept, changed := map[*fieldtree.Node][]*jsontree.Node{}, map[*fieldtree.Node]bool{}
	for _, p := range k.pieces {
		if atomic := p.inside(); atomic != nil {
			kept[atomic] = append(kept[atomic], k.live.Of(p.top), k.incoming.Of(p.top))
			changed[atomic] = changed[atomic] || !bytes.Equal(p.value, k.live.Of(p.top).Text())
		}
	}
	for atomic, ignored := range kept {
		changed[atomic] = changed[atomic] || !jsontree.EqualBut(k.live.Of(atomic), k.incoming.Of(atomic), ignored...)
	}
	return changed
}

// restoreEntries returns the incoming managedFields entries in the API server's order, in which each part has the managers
// that it has in live. The exception is the Apply entry of the server-side applier that sends the write. It records what the
// manifest sets, as the last-applied annotation does for client-side apply, so a field that the manifest drops leaves it.
func (k *keeper) restoreEntries() ([]ownership.Entry, error) {
	entries, unmanaged := make([]ownership.Entry, 0, len(k.write.IncomingEntries)+1), k.hasUnmanaged()
	for pair := range managedfields.Pairs(k.write.LiveEntries, k.write.IncomingEntries) {
		e, err := k.restoreEntry(pair, unmanaged)
		if err != nil {
			return nil, err
		}
		if wasEmpty := pair.InIncoming && pair.Incoming.IsEmpty(); wasEmpty || !e.IsEmpty() {
			entries = append(entries, e)
		}
	}
	return managedfields.InOrder(entries), nil
}

// hasUnmanaged reports whether a kept field is in no entry of live: it was written through another API version.
func (k *keeper) hasUnmanaged() bool {
	managed := map[*fieldtree.Node]bool{k.parts.scale: true}
	for _, e := range k.write.LiveEntries {
		for _, p := range k.partsIn(e) {
			managed[p.Node] = true
		}
	}
	return slices.ContainsFunc(k.tree.Nodes(), func(n *fieldtree.Node) bool { return k.parts.kept[n.ID] && !managed[n] })
}

// isSendersApply reports whether an entry is the Apply entry of the server-side applier that sends the write.
func (k *keeper) isSendersApply(e ownership.Entry) bool {
	return k.write.Sender.ServerSide() && k.write.Sender.Entry.Same(e)
}

// restoreEntry returns an entry that manages the same of the parts as in live. If a part is unmanaged in live, an entry that the write
// changes, of another version and no applier's, keeps the fields that live lacks at their path: they have another name in this version.
func (k *keeper) restoreEntry(pair managedfields.Pair, unmanaged bool) (ownership.Entry, error) {
	had, has, parents := k.keptIn(pair.Live), k.partsIn(pair.Incoming), k.parts.parents
	if k.isSendersApply(pair.Entry()) {
		has = slices.DeleteFunc(has, func(p fieldtree.Part) bool {
			_, before := slices.BinarySearchFunc(had, p, fieldtree.Part.Compare)
			return before
		})
		had, parents = nil, &fieldpath.Set{}
	}
	isSame := slices.EqualFunc(had, has, fieldtree.Part.Equals)
	if isSame && !pair.Changed() {
		return pair.Incoming, nil
	}
	scale := k.scaleIn(pair.Entry())
	restored, replaced := k.pathsOf(had, scale), k.pathsOf(has, scale)
	others := unmanaged && pair.Changed() && k.write.InOtherVersion(pair.Live) && !k.write.Managers.IsApplier(pair.Live)
	isSame = isSame && parents.Empty()
	if isSame && !others {
		return pair.Incoming, nil // whatever else its set contains is not read
	}
	incoming, err := pair.Incoming.Set()
	if err != nil {
		return pair.Incoming, err
	}
	set, live := incoming, &fieldpath.Set{}
	if len(had) > 0 || !parents.Empty() || others { // live's set gives nothing otherwise, and a twentieth of a keep is spent in reading it
		if live, err = pair.Live.Set(); err != nil {
			return pair.Incoming, err
		}
	}
	if !isSame {
		set = incoming.RecursiveDifference(replaced).Union(live.Difference(live.RecursiveDifference(restored))).Union(live.Intersection(parents))
	}
	if others {
		set = set.Union(k.write.Live.At().Lacks(live.Difference(set)))
	}
	switch {
	case pair.InIncoming && set.Equals(incoming):
		return pair.Incoming, nil
	case !pair.InIncoming && set.Equals(live):
		return pair.Live, nil
	}
	return pair.Entry().WithSet(set)
}

// partsIn returns the parts that an entry's field set contains, in the order of the tree.
func (k *keeper) partsIn(e ownership.Entry) (found []fieldtree.Part) {
	scale := k.scaleIn(e)
	isOther := k.parts.scale != nil && k.write.InOtherVersion(e)
	isSender := k.write.Sender.Entry.Same(e)
	k.tree.Managed(e.Fields, func(p fieldtree.Part) {
		isPart := k.parts.kept[p.Node.ID] || k.parts.gone[p.Node.ID]
		if isPart && (!isOther || p.Node != k.parts.scale) && (!isSender || !k.parts.shared[p.Node]) {
			found = append(found, p)
		}
	})
	if isOther && e.Contains(scale) {
		found = append(found, fieldtree.Part{Node: k.parts.scale})
	}
	slices.SortFunc(found, fieldtree.Part.Compare)
	return found
}

// keptIn returns the parts that an entry of live contains and must contain afterwards.
func (k *keeper) keptIn(e ownership.Entry) []fieldtree.Part {
	return slices.DeleteFunc(k.partsIn(e), func(p fieldtree.Part) bool { return k.parts.gone[p.Node.ID] })
}

// scaleIn returns the path of parts.scale in the API version of an entry, nil if there is none.
func (k *keeper) scaleIn(e ownership.Entry) fieldpath.Path {
	if k.parts.scale == nil {
		return nil
	}
	return k.write.ScaleIn(e, k.parts.scale.Path())
}

// pathsOf returns the paths of parts, given that of parts.scale. They are sorted: a Set keeps its members sorted, so that filling it in
// another order takes quadratic time.
func (k *keeper) pathsOf(parts []fieldtree.Part, scale fieldpath.Path) *fieldpath.Set {
	paths := make([]fieldpath.Path, len(parts))
	for i, p := range parts {
		if paths[i] = p.Node.Path(); p.Node == k.parts.scale {
			paths[i] = scale
		}
	}
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return fieldpath.NewSet(paths...)
}

// verifyEntries checks that each finished entry contains the same parts as in live.
func (k *keeper) verifyEntries(entries []ownership.Entry) error {
	for pair := range managedfields.Pairs(k.write.LiveEntries, entries) {
		isSame := func(live, restored fieldtree.Part) bool { return live.Node == restored.Node }
		if !k.isSendersApply(pair.Entry()) && !slices.EqualFunc(k.keptIn(pair.Live), k.partsIn(pair.Incoming), isSame) {
			return fmt.Errorf("%w: the managedFields entry of %s differs", ErrNotRestored, pair.Entry().Manager)
		}
	}
	return nil
}
