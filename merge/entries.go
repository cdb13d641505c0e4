package merge

import (
	"bytes"
	"cmp"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// entryRestorer restores the managedFields entries of a write.
type entryRestorer struct {
	keeper *keeper

	pairs []entryPair
	// moved are the units that the write moves from one manager to another on purpose.
	moved map[*unit]bool
	byTop []*unit // by Node.ID
	scale *unit   // the one with the scale field, nil if there is none
}

// restoreEntries returns the incoming managedFields entries in the API server's order, in which each unit has the managers
// that it has in live. There are two exceptions:
//   - The Apply entry of the server-side applier that sends the write stays as it is. It records what the manifest sets, as
//     the last-applied annotation does for client-side apply, so a field that the manifest drops leaves it.
//   - A field that the write moves to another manager without changing its value stays with the new manager. Such a move is
//     intended: kubectl makes it when a manifest migrates from client-side to server-side apply, and Flux when it takes
//     over the fields that kubectl wrote.
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
	}
	if err := r.restoreOtherVersions(restored); err != nil {
		return nil, err
	}
	entries := restored[:0]
	for i := range r.pairs {
		wasEmpty := r.pairs[i].inIncoming && r.pairs[i].incoming.IsEmpty()
		if !restored[i].IsEmpty() || wasEmpty {
			entries = append(entries, restored[i])
		}
	}
	return ownership.InOrder(entries), nil
}

// entryPair is the entries of one manager in live and in the incoming object.
type entryPair struct {
	live, incoming ownership.Entry
	// inIncoming reports whether the incoming object has the entry.
	inIncoming bool
	// changed reports whether the write changes the entry's field set.
	changed bool
	// moves reports whether the fields that the write removes from the entry move to another manager on purpose.
	moves bool
	// liveUnits and incomingUnits are the parts of the two field sets at the units; empty unless the entry is changed.
	liveUnits, incomingUnits unitParts
}

// unitPart is the part of a field set at a unit, as JSON.
type unitPart struct {
	unit *unit
	text []byte
}

// unitParts are the parts of a field set, sorted by unit.index. They only list units that the set contains: an element for each
// unit in each entry would take quadratic memory.
type unitParts []unitPart

func (p unitPart) compare(index int) int { return cmp.Compare(p.unit.index, index) }

// at returns the part at a unit, nil if there is none.
func (p unitParts) at(u *unit) []byte {
	if i, ok := slices.BinarySearchFunc(p, u.index, unitPart.compare); ok {
		return p[i].text
	}
	return nil
}

// with returns the parts with a part at a unit in place of the one that was there; nil removes it.
func (p unitParts) with(u *unit, text []byte) unitParts {
	i, ok := slices.BinarySearchFunc(p, u.index, unitPart.compare)
	switch {
	case ok && text == nil:
		return slices.Delete(p, i, i+1)
	case ok:
		p[i].text = text
	case text != nil:
		return slices.Insert(p, i, unitPart{u, text})
	}
	return p
}

// entry returns the incoming entry or, if the write has removed it, the one of live.
func (p entryPair) entry() ownership.Entry {
	if p.inIncoming {
		return p.incoming
	}
	return p.live
}

// unitsByTop returns the units by the ID of their top.
func (k *keeper) unitsByTop() []*unit {
	byTop := make([]*unit, k.tree.Len())
	for _, u := range k.units {
		byTop[u.top.ID] = u
	}
	return byTop
}

func (k *keeper) newEntryRestorer(incoming []ownership.Entry) *entryRestorer {
	r := &entryRestorer{keeper: k, byTop: k.unitsByTop(), scale: k.scaleUnit()}
	if len(k.units) == 0 || !k.write.Live.Present() {
		return r // nothing to restore
	}
	pairs := ownership.Pairs(k.write.LiveEntries, incoming)
	moves := k.write.Moves(pairs)
	r.pairs = make([]entryPair, 0, len(incoming)+1)
	for both := range pairs {
		pair := entryPair{live: both.Live, incoming: both.Incoming, inIncoming: both.InIncoming, moves: moves(both)}
		pair.changed = !both.InIncoming || !both.InLive || !bytes.Equal(pair.incoming.Fields, pair.live.Fields)
		if pair.changed {
			pair.liveUnits, pair.incomingUnits = r.unitsOf(pair.live), r.unitsOf(pair.incoming)
			r.moved = k.addMoved(r.moved, pair)
		}
		r.pairs = append(r.pairs, pair)
	}
	return r
}

// addMoved adds the units that the write moves on purpose from an entry of live to the moved units, which may be nil.
func (k *keeper) addMoved(moved map[*unit]bool, pair entryPair) map[*unit]bool {
	for _, live := range pair.liveUnits {
		if pair.incomingUnits.at(live.unit) != nil || !k.isMoved(pair, live.unit) || k.isSendersApply(pair.live) {
			continue
		}
		if moved == nil {
			moved = map[*unit]bool{}
		}
		moved[live.unit] = true
	}
	return moved
}

// isMoved reports whether the write moves a unit on purpose from an entry of live, given that it removes it from there.
func (k *keeper) isMoved(pair entryPair, u *unit) bool { return pair.moves && k.isUnchanged(u) }

// isUnchanged reports whether the incoming object has a unit's value as it is in live.
func (k *keeper) isUnchanged(u *unit) bool {
	return bytes.Equal(k.incoming.Of(u.top, k.write.Incoming.Text()), k.live.Of(u.top, k.write.Live.Text()))
}

// isSendersApply reports whether an entry is the Apply entry of the server-side applier that sends the write.
func (k *keeper) isSendersApply(e ownership.Entry) bool {
	return k.write.Sender.ServerSide() && k.write.Sender.Entry.Same(e)
}

// unitsOf returns the parts of an entry's field set at the units that the entry manages.
func (r *entryRestorer) unitsOf(e ownership.Entry) unitParts {
	var parts unitParts
	r.keeper.tree.Managed(e.Fields, r.keeper.meter, func(n *fieldtree.Node, start int) {
		if u := r.byTop[n.ID]; u != nil {
			parts = append(parts, unitPart{u, e.Fields[start:rawjson.Skip(e.Fields, start)]})
		}
	})
	slices.SortFunc(parts, func(a, b unitPart) int { return a.compare(b.unit.index) })
	if r.scale != nil && r.keeper.write.InOtherVersion(e) {
		var text []byte
		if e.Contains(r.keeper.scalePathIn(e)) {
			text = []byte("{}")
		}
		parts = parts.with(r.scale, text)
	}
	return parts
}

// scaleUnit returns the unit with the scale field, nil if there is none.
func (k *keeper) scaleUnit() *unit {
	for _, u := range k.units {
		if u.scale {
			return u
		}
	}
	return nil
}

// scalePathIn returns the path of the scale field in the API version of an entry.
func (k *keeper) scalePathIn(e ownership.Entry) fieldpath.Path {
	for _, field := range k.kept {
		switch {
		case !field.Scale:
		case field.ScaleIn != nil:
			return field.ScaleIn(e.APIVersion)
		default:
			return field.Path
		}
	}
	return nil
}

// restore returns an entry with its field set restored at the units.
func (r *entryRestorer) restore(pair entryPair) (ownership.Entry, error) {
	if !pair.changed {
		return pair.incoming, nil
	}
	gained, lost := r.toUndo(pair)
	if len(gained)+len(lost) == 0 {
		return pair.incoming, nil
	}
	if e, ok := r.restoreText(pair, gained, lost); ok {
		return e, nil
	}
	incoming, err := pair.incoming.Set()
	if err != nil {
		return pair.incoming, err
	}
	live, err := pair.live.Set()
	if err != nil {
		return pair.incoming, err
	}
	set := incoming.RecursiveDifference(r.pathsOf(gained, pair)).RecursiveDifference(r.pathsOf(lost, pair))
	set = set.Union(r.subset(live, lost, pair))
	if set.Equals(incoming) && pair.inIncoming {
		return pair.incoming, nil
	}
	return pair.entry().WithSet(set)
}

// fewUnits is the largest number of units that are cut from the text of an entry one by one, because each cut copies the text.
const fewUnits = 4

// restoreText is restore for the usual cases, in which the text of an entry can be edited: an entry that has only gained units,
// and an entry of nothing but units that the write has removed.
func (r *entryRestorer) restoreText(pair entryPair, gained, lost []*unit) (e ownership.Entry, ok bool) {
	units, e := gained, pair.incoming
	switch {
	case len(lost) > 0 && (pair.inIncoming || len(gained) > 0):
		return e, false
	case len(lost) > 0:
		units, e = lost, pair.live
	}
	if len(units) > fewUnits {
		return e, false
	}
	whole := false
	for _, u := range units {
		if e, whole, ok = e.Without(r.pathOf(u, pair)); !ok {
			return e, false
		}
	}
	if len(lost) > 0 {
		return pair.live, whole
	}
	return e, true
}

// toUndo returns the units that an entry has gained and must not manage, and those that it has lost, in whole or in part,
// and is to manage as in live.
func (r *entryRestorer) toUndo(pair entryPair) (gained, lost []*unit) {
	for _, incoming := range pair.incomingUnits {
		if u := incoming.unit; pair.liveUnits.at(u) == nil && !r.moved[u] && !r.hasUnknownPath(u, pair) {
			gained = append(gained, u)
		}
	}
	if r.keeper.isSendersApply(pair.entry()) {
		return gained, nil
	}
	for _, live := range pair.liveUnits {
		u := live.unit
		incoming := pair.incomingUnits.at(u)
		switch {
		case bytes.Equal(incoming, live.text):
		case incoming != nil && r.hasUnknownPath(u, pair):
		case incoming == nil && r.keeper.isMoved(pair, u):
		default:
			lost = append(lost, u)
		}
	}
	return gained, lost
}

// hasUnknownPath reports whether a unit's path in the API version of an entry is unknown. In versions other than the
// write's, only the path of the scale field is known.
func (r *entryRestorer) hasUnknownPath(u *unit, pair entryPair) bool {
	return !u.scale && r.keeper.write.InOtherVersion(pair.entry())
}

// pathsOf returns the paths of units in the API version of an entry.
func (r *entryRestorer) pathsOf(units []*unit, pair entryPair) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, u := range units {
		set.Insert(r.pathOf(u, pair))
	}
	return set
}

func (r *entryRestorer) pathOf(u *unit, pair entryPair) fieldpath.Path {
	if e := pair.entry(); u.scale && r.keeper.write.InOtherVersion(e) {
		return r.keeper.scalePathIn(e)
	}
	return u.top.Path()
}

// subset returns the elements of a set at units and nested under them.
func (r *entryRestorer) subset(set *fieldpath.Set, units []*unit, pair entryPair) *fieldpath.Set {
	return set.Difference(set.RecursiveDifference(r.pathsOf(units, pair)))
}
