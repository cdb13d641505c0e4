package ownership

import (
	"iter"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Context has the facts about a field's owner that the live object does not record.
type Context struct {
	Managers Managers
	// Autoscaler names the autoscaler that targets the object, if the field is its scale field; empty if none does.
	Autoscaler string
	// Scale reports whether the field is the object's scale field.
	Scale bool
	// Controlled reports whether a rule assigns the field to controllers.
	Controlled bool
}

// Resolve returns the owner of the field at path. live are the managedFields of the live object, and base is how the last
// applied manifest declares the field.
//
// If several managers manage the field, the owner with the highest precedence wins. A manager that changes a value removes
// the field from all other entries
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management), so a manager other than an applier
// wrote the current value, and an applier beside it has only set the same value.
func (c Context) Resolve(path fieldpath.Path, live []Entry, base Declaration) FieldOwner {
	return c.resolve(EntriesFor(live, path), base, false)
}

// resolve is Resolve for the entries that contain a field. asApplied reports whether live has the value that the base sets:
// the manifest then owns the field rather than an imperative manager.
func (c Context) resolve(entries []Entry, base Declaration, asApplied bool) FieldOwner {
	if c.Autoscaler != "" {
		return FieldOwner{Kind: Autoscaler, By: c.Autoscaler}
	}
	owned := FieldOwner{Kind: Default}
	if base != Lacks {
		owned.Kind = Manifest
	}
	owned, _ = c.strongest(slices.All(entries), owned, asApplied)
	return owned
}

// strongest returns the owner with the highest precedence, of those that have entries and the one that the field has without any,
// and the index of its entry, -1 for the latter.
func (c Context) strongest(entries iter.Seq2[int, Entry], without FieldOwner, asApplied bool) (owned FieldOwner, by int) {
	owned, by = without, -1
	for i, e := range entries {
		owner := c.ownerFor(e)
		if owner == Imperative && asApplied {
			owner = Manifest
		}
		if owner > owned.Kind || owned.By == "" && owner == owned.Kind {
			owned, by = FieldOwner{Kind: owner, By: e.Manager}, i
		}
	}
	return owned, by
}

// ownerFor returns the kind of owner for an entry that contains the field.
func (c Context) ownerFor(e Entry) Owner {
	switch {
	case c.Scale && c.Managers.ownsScale(e.Manager):
		return Autoscaler
	case c.Managers.IsApplier(e):
		return Manifest
	case c.Controlled && !c.Managers.IsImperative(e):
		return Controller
	default:
		return Imperative
	}
}
