package ownership

import (
	"slices"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/managedfields"
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
		if !apitypes.SameValue(f.Value, s.declared.Text()) {
			f.DeclaredValue = s.declared.Text()
		}
	}
	for i, e := range w.entries {
		if slices.ContainsFunc(s.claims, func(c claim) bool { return c.entry == i && c.isMember }) {
			f.Entries = append(f.Entries, e)
		}
	}
	owned, by := w.owner(f)
	f.Owner, f.Since = owned, by.Time
	if i := slices.IndexFunc(f.Entries, by.Same); i > 0 {
		f.Entries = slices.Insert(slices.Delete(f.Entries, i, i+1), 0, by)
	}
	return f
}

// owner returns the field's owner and its entry, the zero Entry if it has none.
func (w *fieldWalk) owner(f Field) (owned FieldOwner, by Entry) {
	through := func(subresource string) (by Entry) {
		if i := slices.IndexFunc(f.Entries, func(e Entry) bool { return e.Subresource == subresource }); i >= 0 {
			by = f.Entries[i]
		}
		return by
	}
	if w.context.Autoscaler != "" && w.context.IsScale(f.Path) {
		return FieldOwner{Kind: Autoscaler, By: w.context.Autoscaler}, through("scale")
	}
	if by := through("status"); by.Subresource != "" && apitypes.InStatus(f.Path) {
		owned = FieldOwner{Kind: Controller, By: by.Manager}
		if matches(w.context.Managers.Imperative, by.Manager) {
			owned.Kind = Imperative
		}
		return owned, by
	}
	named := slices.DeleteFunc(slices.Clone(f.Entries), Entry.IsAnonymous)
	of := managedField{path: f.Path, without: f.ownerWithoutEntry(len(named) == 0 && (len(f.Entries) > 0 || len(w.entries) == 0))}
	of.rules = w.context.Managers.RulesFor(f.Path)
	isBase := f.declaredAsIs() || apitypes.AsDeclared(f.Path, f.Value, f.DeclaredValue)
	of.isApplied, of.isUnapplied = w.applied.status(f.Path, f.Value, isBase)
	of.isUnapplied = of.isUnapplied && len(named) > 0
	of.entries = slices.DeleteFunc(named, func(e Entry) bool { return f.Declared == Lacks && w.wroteLastApplied(e) })
	owned, by = w.context.ownerOf(of)
	if owned.Kind == Imperative && !w.context.Managers.IsImperative(by) {
		owned.Kind = Other
	}
	return owned, by
}

// wroteLastApplied reports whether an entry is that of the client-side applier that wrote the last-applied configuration. If that lacks a
// field of the entry, the API server set it by defaulting.
func (w *fieldWalk) wroteLastApplied(e Entry) bool {
	return e.Operation == managedfields.OperationUpdate && w.context.Managers.IsApplier(e) && e.Contains(LastAppliedPath())
}

// ownerWithoutEntry returns the owner of a field for which no entry names one. unrecorded reports whether a manager has written
// the field whose name is not recorded. Declarations of status do not count, because the API server drops them.
func (f Field) ownerWithoutEntry(unrecorded bool) Owner {
	switch {
	case f.Declared != Lacks && !apitypes.InStatus(f.Path) && (!unrecorded || f.declaredAsIs()):
		return Manifest
	case unrecorded:
		return Unknown
	default:
		return Default
	}
}

// declaredAsIs reports whether live has the value of the last-applied configuration.
func (f Field) declaredAsIs() bool { return f.Declared == Sets && f.DeclaredValue == nil }
