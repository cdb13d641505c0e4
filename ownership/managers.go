package ownership

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Managers lists field managers by kind. The lists contain names or path.Match patterns, such as "kubectl-*". A manager that
// several lists match has the kind of the first of them, in the order of this struct.
type Managers struct {
	// Autoscalers set the replicas of workloads. The HorizontalPodAutoscaler controller need not be listed: the
	// HorizontalPodAutoscaler objects show which objects it targets. A listed manager never counts as an applier.
	Autoscalers []string
	// Readable are those of the Autoscalers that own nothing by their name: the objects with which they reference what they scale
	// can be read (Scaler.Readable).
	Readable []string
	// Appliers apply manifests.
	Appliers []string
	// Imperative managers are used by imperative commands, such as kubectl edit.
	Imperative []string
}

// IsAutoscaler reports whether the manager is listed as an autoscaler.
func (m Managers) IsAutoscaler(manager string) bool { return matches(m.Autoscalers, manager) }

// ownsScale reports whether a manager owns the scale field that it has written because it is listed as an autoscaler.
func (m Managers) ownsScale(manager string) bool {
	return m.IsAutoscaler(manager) && !slices.Contains(m.Readable, manager)
}

// IsApplier reports whether the entry records an applied manifest: its operation is Apply, or its manager is listed as an
// applier. Entries of autoscalers never do.
func (m Managers) IsApplier(e Entry) bool {
	return !m.IsAutoscaler(e.Manager) && (e.Operation == OperationApply || matches(m.Appliers, e.Manager))
}

// IsImperative reports whether the entry records imperative commands.
func (m Managers) IsImperative(e Entry) bool {
	return !m.IsAutoscaler(e.Manager) && !m.IsApplier(e) && matches(m.Imperative, e.Manager)
}

func matches(patterns []string, manager string) bool {
	for _, pattern := range patterns {
		if pattern == manager {
			return true
		}
		if !strings.ContainsAny(pattern, `*?[\`) {
			continue
		}
		if ok, err := path.Match(pattern, manager); ok && err == nil {
			return true
		}
	}
	return false
}

// Sender is the field manager that sends a write.
type Sender struct {
	Writer Writer
	// Entry is the sender's managedFields entry in the incoming object. If there is none, it has only the manager and the
	// operation.
	Entry Entry
}

// ServerSide reports whether the write is a server-side apply.
func (a Sender) ServerSide() bool { return a.Entry.Operation == OperationApply }

// Sender returns the field manager that sends a write. fieldManager is the one in the request's options, or empty; live and
// incoming are the managedFields before and after the write. If fieldManager is empty, the sender is the manager whose entry
// the write updated, and the zero Sender if there is none.
func (m Managers) Sender(fieldManager string, live, incoming []Entry) Sender {
	entry := senderEntry(fieldManager, live, incoming)
	switch {
	case entry.Manager == "":
		return Sender{}
	case m.IsApplier(entry):
		return Sender{Writer: Applier, Entry: entry}
	case m.IsImperative(entry):
		return Sender{Writer: ImperativeWriter, Entry: entry}
	default:
		return Sender{Entry: entry}
	}
}

// senderEntry returns the sender's entry. It prefers an entry that the write updated, because a manager can have one for
// each operation. If the write updated none, a manager that has only an Apply entry has applied.
func senderEntry(fieldManager string, live, incoming []Entry) Entry {
	var own Entry
	found, before := 0, indexOf(live)
	for _, e := range incoming {
		if e.Subresource != "" || (fieldManager != "" && e.Manager != fieldManager) {
			continue
		}
		if e.isUpdated(before) {
			return e
		}
		if fieldManager != "" {
			own, found = e, found+1
		}
	}
	switch {
	case found == 1:
		return own
	case found == 0 && fieldManager != "" && hasApplied(fieldManager, live):
		return Entry{Manager: fieldManager, Operation: OperationApply} // the manifest has dropped all of its fields
	default:
		return Entry{Manager: fieldManager, Operation: OperationUpdate}
	}
}

// hasApplied reports whether a manager has an Apply entry.
func hasApplied(manager string, entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Manager == manager && e.Operation == OperationApply && e.Subresource == ""
	})
}

// isUpdated reports whether the entry's own manager has written since live: its time is new, or it has gained fields. The API
// server sets the time, in whole seconds, when the manager gains a field; writes of other managers only remove fields.
func (e Entry) isUpdated(live entryIndex) bool {
	was, ok := live.find(e)
	if !ok || e.Time != was.Time {
		return true
	}
	if bytes.Equal(e.Fields, was.Fields) {
		return false
	}
	now, errNow := e.Set()
	before, errBefore := was.Set()
	return errNow == nil && errBefore == nil && !now.Difference(before).Empty()
}
