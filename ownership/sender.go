package ownership

import (
	"slices"

	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// SentBy returns the field manager that sends the write, given its objects, entries and Managers. Without FieldManager, it is the manager
// whose entry the write updated, and the zero Sender if there is none.
func (w Write) SentBy() Sender {
	s := Sender{Entry: senderEntry(w.FieldManager, w.LiveEntries, w.IncomingEntries)}
	s.Was, _ = s.Entry.Find(w.LiveEntries)
	switch {
	case s.Entry.Manager == "":
		return Sender{}
	case w.applies(s):
		s.Writer = Applier
	case w.Managers.IsImperative(s.Entry):
		s.Writer = ImperativeWriter
	}
	return s
}

// applies reports whether the sender, with these entries, applies a manifest.
func (w Write) applies(s Sender) bool {
	sender := s.Entry
	if s.ServerSide() {
		return w.appliesServerSide(s)
	}
	if w.Managers.IsApplier(sender) {
		return true
	}
	if matches(w.Managers.Imperative, sender.Manager) || w.Managers.isController(sender.Manager) {
		return false
	}
	if sender.Fields == nil && !sameLastApplied(w.Live, w.Incoming) && w.Incoming.hasOwnLastApplied() {
		return true // an API server without managedFields
	}
	// The annotation can be in the entry of another API version: a manager has one for each that it has used.
	return slices.ContainsFunc(w.IncomingEntries, func(e Entry) bool {
		return e.Manager == sender.Manager && w.Managers.IsApplier(e) && e.Operation == managedfields.OperationUpdate
	})
}

// appliesServerSide reports whether a server-side apply applies a manifest: the one that it applies now, or the one before, of
// which it may have dropped all other fields.
func (w Write) appliesServerSide(s Sender) bool {
	hadApplied := s.Was.Text != nil
	if hadApplied && w.Managers.IsApplier(s.Was) {
		return true
	}
	return w.Managers.IsApplier(s.Entry) && (s.Entry.Fields != nil || !hadApplied)
}

// senderEntry returns the sender's entry. It prefers an entry that the write updated, because a manager can have one for
// each operation. If the write updated none, a manager that has only an Apply entry has applied.
func senderEntry(fieldManager string, live, incoming []Entry) Entry {
	var own []Entry
	before := managedfields.ByID(live)
	for _, e := range incoming {
		mayBeIts := e.Manager == fieldManager || fieldManager == "" && !e.IsAnonymous() // a write can join the oldest entries to a new one
		if e.Subresource != "" || !mayBeIts {
			continue
		}
		if e.IsUpdated(before) {
			return e
		}
		own = append(own, e)
	}
	applied := Entry{Manager: fieldManager, Operation: managedfields.OperationApply}
	hadApplied := before[applied.ID()] != nil
	switch {
	case fieldManager == "":
		return Entry{}
	case len(own) == 1:
		return own[0]
	case len(own) == 0 && hadApplied:
		return applied // the manifest has dropped all of its fields
	default:
		return Entry{Manager: fieldManager, Operation: managedfields.OperationUpdate}
	}
}
