package merge

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// HandoverManager holds the claim on a field that an applier has let go of in favour of an autoscaler or a
// controller that has not written it yet: without any claim on it, the API server would not record its next write through
// /scale. It is the temporary manager of the documented procedure, and gone once the owner writes
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
const HandoverManager = "ownership-handoff"

// handOver adds a claim of the HandoverManager on held fields that somebody claimed in live and nobody would claim now.
func (w Write) handOver(entries []ownership.Entry, kept []Kept) ([]ownership.Entry, error) {
	unclaimed := fieldpath.NewSet()
	for _, field := range kept {
		if field.Held && claimed(w.LiveEntries, field.Path) && !claimed(entries, field.Path) {
			unclaimed.Insert(field.Path)
		}
	}
	if unclaimed.Empty() {
		return entries, nil
	}
	handover, err := ownership.NewEntry(HandoverManager, w.ownEntry(unclaimed), unclaimed)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if !e.Same(handover) {
			continue
		}
		set, err := e.Set()
		if err != nil {
			return nil, err
		}
		entries[i], err = e.WithSet(set.Union(unclaimed))
		return entries, err
	}
	return append(entries, handover), nil
}

// ownEntry returns the author's entry or, where the write leaves it none, one that claimed any of the fields in live: the
// API server refuses an entry without an API version.
func (w Write) ownEntry(fields *fieldpath.Set) ownership.Entry {
	like := w.Author.Entry
	fields.Iterate(func(path fieldpath.Path) {
		if holders := ownership.Holders(w.LiveEntries, path); like.APIVersion == "" && len(holders) > 0 {
			like = holders[0]
		}
	})
	return like
}
