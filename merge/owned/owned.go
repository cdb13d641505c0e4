package merge

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// Owners applies the decision table to a three-way merge by an Applier: pass its method Keep in threeway.Options.
type Owners struct {
	// Owner returns the owner in live of the field at a path.
	Owner func(path fieldpath.Path) ownership.FieldOwner
	// Scale is the path of the object's scale field (row 4 of the table), nil if it has none.
	Scale fieldpath.Path
}

// Keep reports whether the decision on a change is to keep live's value.
func (o Owners) Keep(change threeway.Change) bool { return o.Decide(change).Verdict == Keep }

// Decide returns the decision on a change that the merge is about to make.
func (o Owners) Decide(change threeway.Change) Decision {
	manifest, base := ownership.Sets, ownership.Lacks
	switch change.Verb {
	case threeway.Deleted: // the base has the field, or a parent of it
		manifest, base = ownership.Lacks, ownership.Sets
	case threeway.Cleared:
		manifest = ownership.Clears
	default:
	}
	return Lookup(Field{
		Owner: o.Owner(change.Path).Kind, Writer: ownership.Applier, Manifest: manifest, Base: base, Changed: true,
		Scale: o.Scale != nil && o.Scale.Equals(change.Path),
	})
}
