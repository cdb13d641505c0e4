package ownership

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Managers sorts field managers by what they stand for. Each list holds names or patterns as path.Match has them, such
// as "kubectl-*"; a manager in several lists counts by the first list that has it, in the order of this struct.
type Managers struct {
	// Autoscalers set a workload's size. The HorizontalPodAutoscaler controller is not listed: whether an autoscaler of its
	// kind targets an object is known from the object it is.
	Autoscalers []string
	// Appliers speak for a manifest.
	Appliers []string
	// Imperative managers carry a person's direct command.
	Imperative []string
}

// IsAutoscaler says whether the manager is listed as an autoscaler.
func (m Managers) IsAutoscaler(manager string) bool { return matches(m.Autoscalers, manager) }

// IsApplier says whether the entry speaks for a manifest: by its operation, as server-side apply does, or by its manager.
func (m Managers) IsApplier(e Entry) bool {
	return !m.IsAutoscaler(e.Manager) && (e.Operation == OperationApply || matches(m.Appliers, e.Manager))
}

// IsImperative says whether the entry comes from a person's direct command.
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

// Author is who sends a write.
type Author struct {
	Writer Writer
	// Entry is the author's own in the incoming object's managedFields. Where the write claims nothing, it holds the
	// manager's name and operation alone.
	Entry Entry
}

// ServerSide says whether the write is a server-side apply.
func (a Author) ServerSide() bool { return a.Entry.Operation == OperationApply }

// Author finds out who sends a write: fieldManager is that of the request's options, or empty; live and incoming are the
// managedFields before and after it. A client that names none is known by the entry that the write moved. The zero Author
// stands for one that nothing tells.
func (m Managers) Author(fieldManager string, live, incoming []Entry) Author {
	entry := authorEntry(fieldManager, live, incoming)
	switch {
	case entry.Manager == "":
		return Author{}
	case m.IsApplier(entry):
		return Author{Writer: Applier, Entry: entry}
	case m.IsImperative(entry):
		return Author{Writer: ImperativeWriter, Entry: entry}
	default:
		return Author{Entry: entry}
	}
}

// authorEntry prefers an entry that the write moved: a manager can have one of each operation. Where none moved, a
// manager that has only ever applied has applied now.
func authorEntry(fieldManager string, live, incoming []Entry) Entry {
	var own Entry
	found, before := 0, indexOf(live)
	for _, e := range incoming {
		if e.Subresource != "" || (fieldManager != "" && e.Manager != fieldManager) {
			continue
		}
		if e.moved(before) {
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
		return Entry{Manager: fieldManager, Operation: OperationApply} // which has let go of all it had
	default:
		return Entry{Manager: fieldManager, Operation: OperationUpdate}
	}
}

// hasApplied says whether a manager has an Apply entry of its own.
func hasApplied(manager string, entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Manager == manager && e.Operation == OperationApply && e.Subresource == ""
	})
}

// moved says whether the entry's own manager wrote since live: another's write only ever takes fields from it. The API
// server sets the time of an entry whenever its manager takes a field, in whole seconds.
func (e Entry) moved(live entryIndex) bool {
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
