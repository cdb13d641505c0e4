package merge

import (
	"bytes"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// restoreClaims returns the incoming entries with the claims on the units as they are in live, in the API server's order.
// There are two exceptions. A server-side applier's own Apply entry is its record of what its manifest sets, as last-applied
// is for client-side apply: a field that the manifest drops leaves the entry. And claims that the write moves from one
// manager to another while the value stays are moved on purpose: by kubectl when a manifest goes from client-side to
// server-side apply, by Flux when it takes over what kubectl wrote.
func (k *keeper) restoreClaims(incoming []ownership.Entry) ([]ownership.Entry, error) {
	if len(k.units) == 0 || !k.write.Live.Present() {
		return ownership.InOrder(incoming), nil
	}
	c := k.claims(incoming)
	claims := make([]ownership.Entry, len(c.pairs))
	for i, pair := range c.pairs {
		var err error
		if claims[i], err = c.restore(pair); err != nil {
			return nil, err
		}
	}
	if err := c.restoreForeign(claims); err != nil {
		return nil, err
	}
	var entries []ownership.Entry
	for i, pair := range c.pairs {
		restored := claims[i]
		if !restored.ClaimsNothing() || pair.isIncoming && pair.now.ClaimsNothing() {
			entries = append(entries, restored)
		}
	}
	return ownership.InOrder(entries), nil
}

// claimPair is an entry in the incoming object and what it was in live.
type claimPair struct {
	now, was              ownership.Entry
	isIncoming, isChanged bool
	inNow, inWas          map[*unit][]byte // what they claim of units, as text
}

// unitClaims are the claims on the units of a write.
type unitClaims struct {
	*keeper

	pairs []claimPair
	byTop map[*fieldtree.Node]*unit
	// moved are the units whose claim the write moves on purpose.
	moved map[*unit]bool
}

func (k *keeper) claims(incoming []ownership.Entry) *unitClaims {
	c := &unitClaims{keeper: k, byTop: map[*fieldtree.Node]*unit{}, moved: map[*unit]bool{}}
	for _, u := range k.units {
		c.byTop[u.top] = u
	}
	for _, both := range ownership.Pairs(k.write.LiveEntries, incoming) {
		pair := claimPair{now: both.Incoming, was: both.Live, isIncoming: both.InIncoming}
		pair.isChanged = !both.InIncoming || !both.InLive || !bytes.Equal(pair.now.Fields, pair.was.Fields)
		if pair.isChanged {
			pair.inNow, pair.inWas = c.unitsIn(pair.now), c.unitsIn(pair.was)
			for u := range pair.inWas {
				if pair.inNow[u] == nil && c.isMoved(pair.was, u) && !c.isOwn(pair.was) {
					c.moved[u] = true
				}
			}
		}
		c.pairs = append(c.pairs, pair)
	}
	return c
}

// isMoved reports whether the write takes the claim on a unit from an entry on purpose.
func (k *keeper) isMoved(was ownership.Entry, u *unit) bool {
	return k.stays(u) && k.write.MovesFrom(was)
}

// stays reports whether the write leaves the value of a unit as it is in live.
func (k *keeper) stays(u *unit) bool {
	return bytes.Equal(k.incoming.Of(u.top, k.write.Incoming.Text()), k.live.Of(u.top, k.write.Live.Text()))
}

// isOwn reports whether an entry is the own Apply entry of the author of a server-side apply.
func (k *keeper) isOwn(e ownership.Entry) bool {
	return k.write.Author.ServerSide() && k.write.Author.Entry.Same(e)
}

// unitsIn returns what an entry claims of units, as text; nothing for a unit of which it claims nothing.
func (c *unitClaims) unitsIn(e ownership.Entry) map[*unit][]byte {
	in := map[*unit][]byte{}
	c.tree.Claims(e.Fields, c.meter, func(n *fieldtree.Node, start int) {
		if u := c.byTop[n]; u != nil {
			in[u] = e.Fields[start:rawjson.Skip(e.Fields, start)]
		}
	})
	if k := c.scaleUnit(); k != nil && c.write.InOtherVersion(e) {
		delete(in, k)
		if e.Holds(c.scalePathIn(e)) {
			in[k] = []byte("{}")
		}
	}
	return in
}

// scaleUnit returns the unit with the scale field, nil where there is none.
func (k *keeper) scaleUnit() *unit {
	for _, u := range k.units {
		if u.scale {
			return u
		}
	}
	return nil
}

// scalePathIn returns the path of the scale field in the version of an entry.
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

// restore returns an entry with its claims on the units as they should be.
func (c *unitClaims) restore(pair claimPair) (ownership.Entry, error) {
	if !pair.isChanged {
		return pair.now, nil
	}
	remove, restore := c.changes(pair)
	if len(remove)+len(restore) == 0 {
		return pair.now, nil
	}
	now, err := pair.now.Set()
	if err != nil {
		return pair.now, err
	}
	was, err := pair.was.Set()
	if err != nil {
		return pair.now, err
	}
	set := now.RecursiveDifference(c.paths(remove, pair)).RecursiveDifference(c.paths(restore, pair))
	set = set.Union(c.below(was, restore, pair))
	if set.Equals(now) && pair.isIncoming {
		return pair.now, nil
	}
	return pair.entry().WithSet(set)
}

// changes returns the units on which an entry has claims that it should not have, and those on which it should have live's.
func (c *unitClaims) changes(pair claimPair) (remove, restore []*unit) {
	own := c.isOwn(pair.entry())
	for u := range pair.inNow {
		if pair.inWas[u] == nil && !c.moved[u] && !c.isForeign(pair, u) {
			remove = append(remove, u)
		}
	}
	for u, was := range pair.inWas {
		now := pair.inNow[u]
		switch {
		case own, bytes.Equal(now, was), now != nil && c.isForeign(pair, u), now == nil && c.isMoved(pair.was, u):
		default:
			restore = append(restore, u)
		}
	}
	return remove, restore
}

// isForeign reports whether the paths of an entry say nothing about a unit: it has been recorded in another version of the
// kind, and only the scale field has a known path there.
func (c *unitClaims) isForeign(pair claimPair, u *unit) bool {
	return !u.scale && c.write.InOtherVersion(pair.entry())
}

// entry returns the incoming entry or, where the write has emptied it, the one of live.
func (p claimPair) entry() ownership.Entry {
	if p.isIncoming {
		return p.now
	}
	return p.was
}

// paths returns where units are in the version of an entry.
func (c *unitClaims) paths(units []*unit, pair claimPair) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, u := range units {
		set.Insert(c.pathOf(u, pair))
	}
	return set
}

func (c *unitClaims) pathOf(u *unit, pair claimPair) fieldpath.Path {
	if e := pair.entry(); u.scale && c.write.InOtherVersion(e) {
		return c.scalePathIn(e)
	}
	return u.top.Path()
}

// below returns what a set has of units and below them.
func (c *unitClaims) below(set *fieldpath.Set, units []*unit, pair claimPair) *fieldpath.Set {
	return set.Difference(set.RecursiveDifference(c.paths(units, pair)))
}
