package ownership

import (
	"iter"
	"slices"
)

// field returns the field at a position, with its owner.
func (w *fieldWalk) field(s position) Field {
	f := Field{Path: slices.Clone(w.path), Value: s.live.Text()}
	if s.live.Len() > 0 && len(w.partsOf(s.live)) == 0 {
		f.Value = []byte("{}")
	}
	switch {
	case s.declared.IsNull():
		f.Declared = Clears
	case s.declared != nil:
		f.Declared = Sets
		if !sameValue(f.Value, s.declared.Text()) {
			f.DeclaredValue = s.declared.Text()
		}
	}
	var entries []int
	for _, c := range s.claims {
		if c.isMember {
			entries = append(entries, c.entry)
		}
	}
	slices.Sort(entries)
	w.setOwner(&f, slices.Compact(entries))
	return f
}

// setOwner sets the field's owner and Entries. entries are the indexes of the entries that contain the field.
func (w *fieldWalk) setOwner(f *Field, entries []int) {
	owned, by := w.owner(f, entries)
	f.Owner = owned
	if by >= 0 {
		f.Since = w.entries[by].Time
	}
	for _, i := range entries {
		f.Entries = append(f.Entries, w.entries[i])
		if i == by {
			last := len(f.Entries) - 1
			copy(f.Entries[1:], f.Entries[:last])
			f.Entries[0] = w.entries[by]
		}
	}
}

// owner returns the field's owner, and the index of the owner's entry, -1 if it has none.
func (w *fieldWalk) owner(f *Field, entries []int) (owned FieldOwner, by int) {
	if w.context.Autoscaler != "" && w.context.IsScale(f.Path) {
		return FieldOwner{Kind: Autoscaler, By: w.context.Autoscaler}, w.through("scale", entries)
	}
	if by := w.through("status", entries); by >= 0 && inStatus(f.Path) {
		return w.context.statusWriter(w.entries[by].Manager), by
	}
	named := slices.DeleteFunc(slices.Clone(entries), func(i int) bool { return w.entries[i].isAnonymous() })
	unrecorded := len(named) == 0 && (len(entries) > 0 || len(w.entries) == 0)
	without := FieldOwner{Kind: f.ownerWithoutEntry(unrecorded)}
	rules := w.context.Managers.RulesFor(f.Path)
	isLast, known := w.applied.isLast(f.Path, f.Value)
	owned, by = w.context.strongest(f.Path, w.declaring(f, named), without, f.asApplied() || isLast, rules)
	if known && !isLast && !f.asApplied() && len(named) > 0 {
		owned = unapplied(owned, rules)
	}
	if owned.Kind == Imperative && !w.context.Managers.IsImperative(w.entries[by]) {
		owned.Kind = Other
	}
	return owned, by
}

// ownerWithoutEntry returns the owner of a field for which no entry names one. unrecorded reports whether a manager has written
// the field whose name is not recorded. Declarations of status do not count, because the API server drops them.
func (f *Field) ownerWithoutEntry(unrecorded bool) Owner {
	switch {
	case f.Declared != Lacks && !inStatus(f.Path) && (!unrecorded || f.declaredAsIs()):
		return Manifest
	case unrecorded:
		return Unknown
	default:
		return Default
	}
}

// declaring returns the entries at the given indexes without a client-side applier's for a field that the last-applied configuration
// lacks: the API server set it by defaulting.
func (w *fieldWalk) declaring(f *Field, entries []int) iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		for _, i := range entries {
			if isDefault := w.clientSide[i] && f.Declared == Lacks; !isDefault && !yield(i, w.entries[i]) {
				return
			}
		}
	}
}

// asApplied reports whether live has the value of the last-applied configuration, as the API server stores it.
func (f *Field) asApplied() bool {
	return f.declaredAsIs() || f.Declared == Sets && asDeclared(f.Path, f.Value, f.DeclaredValue)
}

// declaredAsIs reports whether live has the value of the last-applied configuration.
func (f *Field) declaredAsIs() bool { return f.Declared == Sets && f.DeclaredValue == nil }

// through returns the first of the entries that was written through a subresource, -1 if there is none.
func (w *fieldWalk) through(subresource string, entries []int) int {
	for _, i := range entries {
		if w.entries[i].Subresource == subresource {
			return i
		}
	}
	return -1
}

// statusWriter returns the owner of a field that a manager wrote through the status subresource: a controller, unless the
// manager is listed as imperative.
func (c ObjectContext) statusWriter(manager string) FieldOwner {
	if matches(c.Managers.Imperative, manager) {
		return FieldOwner{Kind: Imperative, By: manager}
	}
	return FieldOwner{Kind: Controller, By: manager}
}

// isAnonymous reports whether the entry stands for managers that are not recorded: those whose entries exceeded the API
// server's maximum number of entries, or those that wrote before the first server-side apply (capmanagers.go and
// skipnonapplied.go in k8s.io/apimachinery/pkg/util/managedfields/internal).
func (e Entry) isAnonymous() bool {
	return e.Operation == OperationUpdate && (e.Manager == "ancient-changes" || e.Manager == "before-first-apply")
}
