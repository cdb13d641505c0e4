package ownership

import (
	"iter"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Resolve returns the owner of the field at path. live are the managedFields of the live object, and base is how the last
// applied manifest declares the field.
//
// If several managers manage the field, the owner with the highest precedence wins. A manager that changes a value removes
// the field from all other entries
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management), so a manager other than an applier
// wrote the current value, and an applier beside it has only set the same value.
func (c ObjectContext) Resolve(path fieldpath.Path, live []Entry, base Declaration) FieldOwner {
	if c.Autoscaler != "" && c.IsScale(path) {
		return FieldOwner{Kind: Autoscaler, By: c.Autoscaler}
	}
	return c.resolve(path, EntriesFor(live, path), base, false, c.Managers.RulesFor(path))
}

// resolve is Resolve for the entries that contain a field, without its autoscaler. asApplied reports whether live has the value that
// the base sets: the manifest then owns the field rather than an imperative manager. rules are those that assign the field.
func (c ObjectContext) resolve(path fieldpath.Path, entries []Entry, base Declaration, asApplied bool, rules []*Rule) FieldOwner {
	owned := FieldOwner{Kind: Default}
	if base != Lacks {
		owned.Kind = Manifest
	}
	owned, _ = c.strongest(path, slices.All(entries), owned, asApplied, rules)
	return owned
}

// strongest returns the owner with the highest precedence, of those that have entries and the one that the field has without any,
// and the index of its entry, -1 for the latter.
func (c ObjectContext) strongest(
	path fieldpath.Path, entries iter.Seq2[int, Entry], without FieldOwner, asApplied bool, rules []*Rule,
) (owned FieldOwner, by int) {
	owned, by = without, -1
	isScale := c.IsScale(path)
	for i, e := range entries {
		owner := c.Managers.ownerFor(e, isScale, rules, asApplied)
		if owner.Kind > owned.Kind || owned.By == "" && owner.Kind == owned.Kind {
			owned, by = owner, i
		}
	}
	return owned, by
}

// ownerFor returns the owner for an entry that contains a field. isScale reports whether it is the scale field. rules are those that
// assign it, and asApplied is as in resolve.
func (m Managers) ownerFor(e Entry, isScale bool, rules []*Rule, asApplied bool) FieldOwner {
	owner := FieldOwner{Kind: Imperative, By: e.Manager}
	rule := m.writtenBy(rules, e, asApplied)
	switch {
	case isScale && m.ownsScale(e.Manager):
		owner.Kind = Autoscaler
	case m.IsApplier(e):
		owner.Kind = Manifest
	case rule != nil:
		owner.Kind, owner.Rule = Controller, rule.Name
	case asApplied:
		owner.Kind = Manifest
	}
	return owner
}
