package ownership

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// field says whose the spot is.
func (w *fieldWalk) field(s spot) Field {
	f := Field{Path: slices.Clone(w.path)}
	if s.live != nil {
		f.Value = s.live.text
	}
	if s.declared != nil {
		f.Declared = Sets
		if s.declared.isNull() {
			f.Declared = Clears
		} else if !sameValue(f.Value, s.declared.text) {
			f.DeclaredValue = s.declared.text
		}
	}
	w.own(&f, s.holders)
	return f
}

// sameValue compares two JSON texts by what they mean.
func sameValue(a, b []byte) bool {
	if bytes.Equal(a, b) || len(a) == 0 {
		return len(a) > 0
	}
	left, errLeft := value.FromJSON(a)
	right, errRight := value.FromJSON(b)
	return errLeft == nil && errRight == nil && value.Equals(left, right)
}

// own gives a field its owner and its holders, whose positions among the entries are given.
func (w *fieldWalk) own(f *Field, holders []int) {
	owned, own := w.owner(f, holders)
	f.Owned = owned
	if own >= 0 {
		f.Since = w.entries[own].Time
	}
	for _, i := range holders {
		f.Holders = append(f.Holders, w.entries[i])
		if i == own {
			last := len(f.Holders) - 1
			copy(f.Holders[1:], f.Holders[:last])
			f.Holders[0] = w.entries[own]
		}
	}
}

// owner returns the field's owner and the position of the entry that makes it, -1 where none does.
func (w *fieldWalk) owner(f *Field, holders []int) (Owned, int) {
	isScale := w.Scale != nil && f.Path.Equals(w.Scale)
	if isScale && w.Autoscaler != "" {
		return Owned{Owner: Autoscaler, By: w.Autoscaler}, w.through("scale", holders)
	}
	if own := w.through("status", holders); own >= 0 && f.inStatus() {
		return w.statusWriter(w.entries[own].Manager), own
	}
	traced := slices.DeleteFunc(slices.Clone(holders), func(i int) bool { return w.entries[i].untraced() })
	untraced := len(traced) == 0 && (len(holders) > 0 || len(w.entries) == 0)
	owned, own := w.strongest(f, traced, w.contextOf(f.Path, isScale), f.unclaimed(untraced))
	if owned.Owner == Imperative && !w.Managers.IsImperative(w.entries[own]) {
		owned.Owner = Other
	}
	return owned, own
}

// unclaimed returns the field's owner as far as no entry says who it is; untraced says that who wrote it is not recorded.
// What a manifest says about status does not count: the API server drops it.
func (f *Field) unclaimed(untraced bool) Owner {
	switch {
	case f.Declared != Lacks && !f.inStatus() && (!untraced || f.declaredAsIs()):
		return Manifest
	case untraced:
		return Unknown
	default:
		return Default
	}
}

// strongest is Context.Resolve for the entries at the given positions, but for what the API server has added to a
// manifest.
func (w *fieldWalk) strongest(f *Field, holders []int, context Context, unclaimed Owner) (owned Owned, own int) {
	owned, own = Owned{Owner: unclaimed}, -1
	for _, i := range holders {
		if w.authors[i] && f.Declared == Lacks {
			continue
		}
		by := context.holds(w.entries[i])
		if by == Imperative && f.asApplied() {
			by = Manifest
		}
		if by > owned.Owner || owned.By == "" && by == owned.Owner {
			owned, own = Owned{Owner: by, By: w.entries[i].Manager}, i
		}
	}
	return owned, own
}

func (f *Field) inStatus() bool {
	return f.Path[0].FieldName != nil && *f.Path[0].FieldName == "status"
}

// asApplied reports whether live has the value that the manifest last set.
func (f *Field) asApplied() bool {
	return f.declaredAsIs() || f.Declared == Sets && asApplied(f.Path, f.Value, f.DeclaredValue)
}

func (f *Field) declaredAsIs() bool { return f.Declared == Sets && f.DeclaredValue == nil }

// contextOf returns what is known about a field beyond the object and its autoscaler.
func (c ObjectContext) contextOf(path fieldpath.Path, isScale bool) Context {
	return Context{Managers: c.Managers, Scale: isScale, Controlled: c.Controls(path)}
}

// Controls reports whether a pattern gives the field at path to controllers.
func (c ObjectContext) Controls(path fieldpath.Path) bool {
	return slices.ContainsFunc(c.Controlled, func(p Pattern) bool { return p.Covers(path) })
}

// through returns the position of the first holder that wrote through a subresource, -1 where none did.
func (w *fieldWalk) through(subresource string, holders []int) int {
	for _, i := range holders {
		if w.entries[i].Subresource == subresource {
			return i
		}
	}
	return -1
}

// statusWriter returns the owner that a writer of the status subresource is: by its nature a controller, whatever the
// operation, but for a person's tool.
func (c ObjectContext) statusWriter(manager string) Owned {
	if matches(c.Managers.Imperative, manager) {
		return Owned{Owner: Imperative, By: manager}
	}
	return Owned{Owner: Controller, By: manager}
}

// untraced says whether the entry stands for writers that are not recorded: all whose updates were beyond the number of
// entries that the API server keeps, or all before the first server-side apply (capmanagers.go and skipnonapplied.go in
// k8s.io/apimachinery/pkg/util/managedfields/internal).
func (e Entry) untraced() bool {
	return e.Operation == OperationUpdate && (e.Manager == "ancient-changes" || e.Manager == "before-first-apply")
}
