package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Scaler is what is known about the scalers that reference an object. The zero Scaler means that none does.
type Scaler struct {
	// Name names the scaler that owns the scale field, as "HorizontalPodAutoscaler/web" or "ScaledObject/web"; empty if there is
	// none.
	Name string
	// Desired is the number of replicas that it wants, 0 if that is not known.
	Desired int64
	// OffAtZero reports whether 0 replicas switch it off, as a HorizontalPodAutoscaler that has not scaled to 0: someone else has
	// set them. Other scalers set 0 themselves.
	OffAtZero bool
	// Readable are the managers of Managers.Autoscalers whose scalers can be read. As none of those references the object, it is
	// no longer theirs.
	Readable []string
}

// ObjectContext is what the owners of an object's fields depend on, besides the live object.
type ObjectContext struct {
	// Managers are those for the object's kind and its rules (Managers.WithRules).
	Managers Managers
	// Scaler is what references the object, and Autoscaler the owner of the scale field by it (ScalerThatOwns): empty if none owns it.
	Scaler     Scaler
	Autoscaler string
	// Scale is the path of the scale field, nil if the object's kind has none.
	Scale fieldpath.Path
}

// IsScale reports whether a path is that of the scale field.
func (c ObjectContext) IsScale(path fieldpath.Path) bool {
	return c.Scale != nil && path.Equals(c.Scale)
}

// isOff reports whether a field is the scale field, with a value that switches the scaler off.
func (c ObjectContext) isOff(path fieldpath.Path, live []byte) bool {
	return c.IsScale(path) && c.Scaler.OffAtZero && string(live) == "0"
}

// managedField is what is known about a field of live. Its owner follows from that.
type managedField struct {
	path fieldpath.Path
	// entries are those that contain the field, without is the kind of its owner if it has none.
	entries []Entry
	without Owner
	// rules are those that assign the field, in their order.
	rules []*Rule
	// isApplied reports whether the field has the value that a manifest has set last: the manifest then owns it rather than an imperative
	// manager. isUnapplied reports whether it is known not to have this value.
	isApplied, isUnapplied bool
}

// ownerOf returns the owner of a field, and its entry, the zero Entry if it has none. A scaler that references the object goes before
// (ScalerThatOwns).
//
// If several managers manage the field, the owner with the highest precedence wins. A manager that changes a value removes
// the field from all other entries
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management), so a manager other than an applier
// wrote the current value, and an applier beside it has only set the same value.
//
// Under a rule for any writer, a value that no manifest has set last is a controller's, also if the only entries are those of
// appliers: some tools rename the managers of others.
func (c ObjectContext) ownerOf(f managedField) (owned FieldOwner, by Entry) {
	owned.Kind = f.without
	for _, e := range f.entries {
		owner := c.ownerFor(e, f)
		if owner.Kind > owned.Kind || owned.By == "" && owner.Kind == owned.Kind {
			owned, by = owner, e
		}
	}
	anyWriter := slices.IndexFunc(f.rules, (*Rule).AnyWriter)
	if f.isUnapplied && anyWriter >= 0 && owned.Kind < Controller {
		return FieldOwner{Kind: Controller, Rule: f.rules[anyWriter].Name}, by
	}
	return owned, by
}

// ownerFor returns the owner for an entry that contains a field. Rules for any writer do not count for a value that a manifest has set.
func (c ObjectContext) ownerFor(e Entry, f managedField) FieldOwner {
	owner := FieldOwner{Kind: Imperative, By: e.Manager}
	rule := slices.IndexFunc(f.rules, func(r *Rule) bool { return c.Managers.writes(r, e) && (!f.isApplied || !r.AnyWriter()) })
	switch {
	case c.IsScale(f.path) && c.Managers.IsAutoscaler(e.Manager) && !slices.Contains(c.Managers.Readable, e.Manager):
		owner.Kind = Autoscaler
	case c.Managers.IsApplier(e):
		owner.Kind = Manifest
	case rule >= 0:
		owner.Kind, owner.Rule = Controller, f.rules[rule].Name
	case f.isApplied:
		owner.Kind = Manifest
	}
	return owner
}
