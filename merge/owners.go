package merge

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// Owners decide on the changes of a three-way merge by the decision table, for a writer that is an Applier: Keep is the
// function for threeway.Options.
type Owners struct {
	// Owner returns the owner in live of the field at a path.
	Owner func(path fieldpath.Path) ownership.Owned
	// Scale is the path of the object's scale field (row 4 of the table), nil where it has none.
	Scale fieldpath.Path
}

// Keep reports whether the field's owner keeps it as it is in live.
func (o Owners) Keep(change threeway.Change) bool { return o.Decide(change).Verb == FieldKept }

// Decide looks up in the decision table what becomes of a field that the merge is about to change or take away: the
// change itself, or FieldKept with live's value, with the owner and the row that decided.
func (o Owners) Decide(change threeway.Change) Change {
	owned := o.Owner(change.Path)
	manifest, base := ownership.Sets, ownership.Lacks
	switch change.Verb {
	case FieldDeleted: // for the base has it, or what it is in
		manifest, base = ownership.Lacks, ownership.Sets
	case FieldCleared:
		manifest = ownership.Clears
	default:
	}
	decision := Decide(Field{
		Owner: owned.Owner, Writer: ownership.Applier, Manifest: manifest, Base: base, Changed: true,
		Scale: o.Scale != nil && o.Scale.Equals(change.Path),
	})
	decided := Change{
		Path: change.Path, Verb: change.Verb, From: change.From, To: change.To, Owner: owned, Row: decision.Row,
	}
	if decision.Verdict == Keep {
		decided.Verb, decided.To = FieldKept, change.From
	}
	return decided
}
