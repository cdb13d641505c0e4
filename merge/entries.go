package merge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

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
	managed := map[*fieldtree.Node]bool{k.parts.scale: true}
	for _, e := range k.write.LiveEntries {
		for _, p := range k.partsIn(e) {
			managed[p.node] = true
		}
	}
	k.parts.unmanaged = slices.ContainsFunc(k.tree.Nodes(), func(n *fieldtree.Node) bool { return k.parts.kept[n.ID] && !managed[n] })
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
	entries := make([]ownership.Entry, 0, len(k.write.IncomingEntries)+1)
	for pair := range managedfields.Pairs(k.write.LiveEntries, k.write.IncomingEntries) {
		e, err := k.restoreEntry(pair)
		if err == nil && k.parts.unmanaged && k.write.InOtherVersion(pair.Live) {
			e, err = k.restoreOtherNames(pair, e)
		}
		if err != nil {
			return nil, err
		}
		if wasEmpty := pair.InIncoming && pair.Incoming.IsEmpty(); wasEmpty || !e.IsEmpty() {
			entries = append(entries, e)
		}
	}
	return managedfields.InOrder(entries), nil
}

// isSendersApply reports whether an entry is the Apply entry of the server-side applier that sends the write.
func (k *keeper) isSendersApply(e ownership.Entry) bool {
	return k.write.Sender.ServerSide() && k.write.Sender.Entry.Same(e)
}

// restoreEntry returns an entry that manages the same of the parts as in live.
func (k *keeper) restoreEntry(pair managedfields.Pair) (ownership.Entry, error) {
	had, has, parents := k.keptIn(pair.Live), k.partsIn(pair.Incoming), k.parts.parents
	if k.isSendersApply(pair.Entry()) {
		has = slices.DeleteFunc(has, func(p managedPart) bool {
			_, before := slices.BinarySearchFunc(had, p, managedPart.compare)
			return before
		})
		had, parents = nil, &fieldpath.Set{}
	}
	if slices.EqualFunc(had, has, managedPart.same) && (parents.Empty() || !pair.Changed()) {
		return pair.Incoming, nil // whatever else its set contains is not read
	}
	incoming, err := pair.Incoming.Set()
	if err != nil {
		return pair.Incoming, err
	}
	set := incoming.RecursiveDifference(k.pathsOf(has, pair.Entry()))
	if len(had) > 0 || !parents.Empty() { // live's set gives nothing otherwise, and a twentieth of a keep is spent in reading it
		live, err := pair.Live.Set()
		if err != nil {
			return pair.Incoming, err
		}
		set = set.Union(live.Difference(live.RecursiveDifference(k.pathsOf(had, pair.Entry())))).Union(live.Intersection(parents))
	}
	if set.Equals(incoming) && pair.InIncoming {
		return pair.Incoming, nil
	}
	return pair.Entry().WithSet(set)
}

// managedPart is a part that a field set contains, in whole or in part, with the subset there, nil for all of it.
type managedPart struct {
	node   *fieldtree.Node
	subset *jsontree.Node
}

// same reports whether two parts contain the same.
func (p managedPart) same(other managedPart) bool {
	text := func(p managedPart) string { return cmp.Or(string(p.subset.Text()), "{}") }
	return p.node == other.node && text(p) == text(other)
}

// compare compares parts by their place in the tree.
func (p managedPart) compare(other managedPart) int { return p.node.ID - other.node.ID }

// partsIn returns the parts that an entry's field set contains, in the order of the tree.
func (k *keeper) partsIn(e ownership.Entry) (found []managedPart) {
	isOther := k.parts.scale != nil && k.write.InOtherVersion(e)
	isSender := e.Same(k.write.Sender.Entry)
	k.tree.Managed(e.Fields, func(n *fieldtree.Node, subset *jsontree.Node) {
		isPart := k.parts.kept[n.ID] || k.parts.gone[n.ID]
		if isPart && (!isOther || n != k.parts.scale) && (!isSender || !k.parts.shared[n]) {
			found = append(found, managedPart{n, subset})
		}
	})
	if isOther && e.Contains(k.pathIn(e, k.parts.scale)) {
		found = append(found, managedPart{k.parts.scale, nil})
	}
	slices.SortFunc(found, managedPart.compare)
	return found
}

// keptIn returns the parts that an entry of live contains and must contain afterwards.
func (k *keeper) keptIn(e ownership.Entry) []managedPart {
	return slices.DeleteFunc(k.partsIn(e), func(p managedPart) bool { return k.parts.gone[p.node.ID] })
}

// pathIn returns the path of a part in the API version of an entry.
func (k *keeper) pathIn(e ownership.Entry, part *fieldtree.Node) fieldpath.Path {
	if part == k.parts.scale {
		return k.write.ScaleIn(e, part.Path())
	}
	return part.Path()
}

// pathsOf returns the paths of parts in the API version of an entry. They are sorted: a Set keeps its members sorted, so that filling it in
// another order takes quadratic time.
func (k *keeper) pathsOf(parts []managedPart, e ownership.Entry) *fieldpath.Set {
	paths := make([]fieldpath.Path, len(parts))
	for i, p := range parts {
		paths[i] = k.pathIn(e, p.node)
	}
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return fieldpath.NewSet(paths...)
}

// restoreOtherNames returns an entry that was recorded in another API version with the fields that the live object does not have at
// their path, because they have another name in the write's version. It is called if a kept field has no manager in this version.
func (k *keeper) restoreOtherNames(pair managedfields.Pair, restored ownership.Entry) (ownership.Entry, error) {
	if !pair.Changed() || k.write.Managers.IsApplier(pair.Live) {
		return restored, nil
	}
	set, err := restored.Set()
	if err != nil {
		return restored, err
	}
	live, err := pair.Live.Set()
	if err != nil {
		return restored, err
	}
	set = set.Union(managedfields.Lacking(live.Difference(set), k.write.Live.At()))
	if !pair.InIncoming && set.Equals(live) {
		return pair.Live, nil
	}
	return pair.Entry().WithSet(set)
}

// verifyEntries checks that each finished entry contains the same parts as in live.
func (k *keeper) verifyEntries(entries []ownership.Entry) error {
	for pair := range managedfields.Pairs(k.write.LiveEntries, entries) {
		isSame := func(live, restored managedPart) bool { return live.node == restored.node }
		if !k.isSendersApply(pair.Entry()) && !slices.EqualFunc(k.keptIn(pair.Live), k.partsIn(pair.Incoming), isSame) {
			return fmt.Errorf("%w: the managedFields entry of %s differs", ErrNotRestored, pair.Entry().Manager)
		}
	}
	return nil
}
