package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Context is what a live object does not say itself about who owns the field at hand.
type Context struct {
	Managers Managers
	// Autoscaler names the autoscaler that targets the object, when the field is its scale field; empty where none does.
	Autoscaler string
	// Scale says that the field is the object's scale field.
	Scale bool
	// Controlled says that a rule gives the field to controllers.
	Controlled bool
}

// Resolve returns who owns the field at path in the live object whose managedFields are given; base is what the manifest
// applied last says about it.
//
// A holder that is no applier wrote the present value: whoever changes a value takes the claims of all others
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management), so an applier that stands beside
// it has only agreed.
func (c Context) Resolve(path fieldpath.Path, live []Entry, base Claim) Owned {
	return c.resolve(Holders(live, path), base, false)
}

// resolve is Resolve for the holders of a field. AsApplied reports whether live has the value that the manifest last set.
func (c Context) resolve(holders []Entry, base Claim, asApplied bool) Owned {
	if c.Autoscaler != "" {
		return Owned{Owner: Autoscaler, By: c.Autoscaler}
	}
	owned := Owned{Owner: Default}
	if base != Lacks {
		owned.Owner = Manifest
	}
	for _, holder := range holders {
		by := c.holds(holder)
		if by == Imperative && asApplied {
			by = Manifest
		}
		if by > owned.Owner || owned.By == "" && by == owned.Owner {
			owned = Owned{Owner: by, By: holder.Manager}
		}
	}
	return owned
}

// holds returns the owner that a holder of the field makes.
func (c Context) holds(holder Entry) Owner {
	switch {
	case c.Scale && c.Managers.IsAutoscaler(holder.Manager):
		return Autoscaler
	case c.Managers.IsApplier(holder):
		return Manifest
	case c.Controlled && !c.Managers.IsImperative(holder):
		return Controller
	default:
		return Imperative
	}
}
