package merge

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// restoreClaims returns the incoming entries with the claims on the kept fields as they are in live, in the API server's
// order, and whether that is a change.
func (w Write) restoreClaims(kept []Kept) (entries []ownership.Entry, changed bool, err error) {
	paths := make([]fieldpath.Path, len(kept))
	for i, field := range kept {
		paths[i] = field.Path
	}
	w.made = w.madeAgain(paths)
	for _, e := range w.IncomingEntries {
		was, _ := e.Find(w.LiveEntries)
		restored, err := w.restore(e, was, paths)
		if err != nil {
			return nil, false, err
		}
		if !claimsNothing(restored) || claimsNothing(e) {
			entries = append(entries, restored)
		}
	}
	for _, was := range w.LiveEntries {
		if _, ok := was.Find(w.IncomingEntries); ok {
			continue
		}
		revived, err := w.revive(was, paths)
		if err != nil {
			return nil, false, err
		}
		if !claimsNothing(revived) {
			entries = append(entries, revived)
		}
	}
	if entries, err = w.handOver(entries, kept); err != nil {
		return nil, false, err
	}
	entries = inOrder(entries)
	return entries, w.released || !sameTexts(entries, inOrder(w.IncomingEntries)), nil
}

// restore returns the entry with its claims on paths as they should be after a keep.
func (w Write) restore(e, was ownership.Entry, paths []fieldpath.Path) (ownership.Entry, error) {
	for _, path := range paths {
		holds, should := e.Holds(path), w.shouldHold(e, was, path)
		if holds == should {
			continue
		}
		set, err := e.Set()
		if err != nil {
			return e, err
		}
		if should {
			before, err := was.Set()
			if err != nil {
				return e, err
			}
			set = set.Union(beneath(before, path))
		} else {
			set = set.RecursiveDifference(fieldpath.NewSet(path))
		}
		if e, err = e.WithSet(set); err != nil {
			return e, err
		}
	}
	return w.restoreContainers(e, was)
}

// restoreContainers returns the entry with the claims that it had in live on the objects that are made again on the way to
// kept fields: they had not gone, had the manifest not let go of what is in them.
func (w Write) restoreContainers(e, was ownership.Entry) (ownership.Entry, error) {
	made, err := w.containersOf(was)
	if err != nil || made.Empty() {
		return e, err
	}
	set, err := e.Set()
	if err != nil || made.Difference(set).Empty() {
		return e, err
	}
	return e.WithSet(set.Union(made))
}

// containersOf returns what an entry held in live of the objects that are made again. An applier's own Apply entry holds
// what its manifest has, and nothing that is made again for others.
func (w Write) containersOf(was ownership.Entry) (*fieldpath.Set, error) {
	if w.made.Empty() || w.Author.ServerSide() && w.Author.Entry.Same(was) {
		return fieldpath.NewSet(), nil
	}
	before, err := was.Set()
	if err != nil {
		return nil, err
	}
	return before.Intersection(w.made), nil
}

// madeAgain returns the objects on the way to fields that the incoming object lacks.
func (w Write) madeAgain(paths []fieldpath.Path) *fieldpath.Set {
	made := fieldpath.NewSet()
	for _, path := range paths {
		for length := w.Incoming.Locate(path).Found + 1; length < len(path); length++ {
			made.Insert(path[:length].Copy())
		}
	}
	return made
}

// revive returns an entry that the write emptied, with what it should still hold of paths and of the objects that are made
// again on the way to them.
func (w Write) revive(was ownership.Entry, paths []fieldpath.Path) (ownership.Entry, error) {
	var kept []fieldpath.Path
	for _, path := range paths {
		if w.shouldHold(ownership.Entry{}, was, path) {
			kept = append(kept, path)
		}
	}
	set, err := w.containersOf(was)
	if err != nil || len(kept) == 0 && set.Empty() {
		return ownership.Entry{}, err
	}
	before, err := was.Set()
	if err != nil {
		return was, err
	}
	return was.WithSet(set.Union(beneath(before, kept...)))
}

// shouldHold says whether a manager that has the entry e now, and had the entry was in live, holds the field at path
// after a keep: as it did in live. There are two exceptions. An applier's own Apply entry is its record of what its
// manifest sets, as last-applied is for client-side apply: a manifest that has let go of the field lets go of the claim.
// And where the value has not changed, an applier that lost its claim was made to hand it over, as kubectl does when a
// manifest moves from client-side to server-side apply.
func (w Write) shouldHold(e, was ownership.Entry, path fieldpath.Path) bool {
	own := w.Author.ServerSide() && w.Author.Entry.Same(e)
	switch {
	case own && !e.Holds(path):
		return false
	case own:
		return was.Holds(path) || w.handedOver(path)
	default:
		return was.Holds(path) && (e.Holds(path) || !w.handsOver(was, path))
	}
}

// handedOver says whether the write has taken the claim on a field from another applier without changing its value.
func (w Write) handedOver(path fieldpath.Path) bool {
	return slices.ContainsFunc(w.LiveEntries, func(was ownership.Entry) bool {
		e, _ := was.Find(w.IncomingEntries)
		return was.Holds(path) && !e.Holds(path) && w.handsOver(was, path)
	})
}

func (w Write) handsOver(was ownership.Entry, path fieldpath.Path) bool {
	return w.Managers.IsApplier(was) && bytes.Equal(w.Live.Value(path), w.Incoming.Value(path))
}
