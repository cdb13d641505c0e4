// Package owned keeps the fields of other owners in a three-way merge, as the decision table of package merge decides: the
// method Keep of Fields is the Keep function of threeway.Options.
package owned

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// Fields are the owned fields of a live object into which an applier's manifest is merged.
type Fields struct {
	// Owner returns the owner in live of the field at a path.
	Owner func(path fieldpath.Path) ownership.FieldOwner
	// Kind is the object's kind.
	Kind schema.GroupKind
	// Scale is the path of the object's scale field (row 4 of the table), nil if it has none.
	Scale fieldpath.Path
}

// Keep reports whether the decision on a change is to keep live's value.
func (f Fields) Keep(change threeway.Change) bool { return f.Decide(change).Verdict == merge.Keep }

// Decide returns the decision on a change that the merge is about to make.
func (f Fields) Decide(change threeway.Change) merge.Decision {
	declared := ownership.Declared{Manifest: ownership.Sets, Base: ownership.Lacks}
	switch change.Verb {
	case threeway.Deleted: // the base has the field, or a parent of it
		declared = ownership.Declared{Manifest: ownership.Lacks, Base: ownership.Sets}
	case threeway.Cleared:
		declared.Manifest = ownership.Clears
	default:
	}
	isScale := f.Scale != nil && f.Scale.Equals(change.Path)
	return merge.LookupApply(f.Owner(change.Path).Kind, declared, f.Kind, change.Path, isScale)
}
