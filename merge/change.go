package merge

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// Verb is what a write or a merge does to a field of live.
type Verb = threeway.Verb

// The verbs.
const (
	FieldAdded   = threeway.Added
	FieldSet     = threeway.Set
	FieldDeleted = threeway.Deleted
	FieldCleared = threeway.Cleared
	FieldKept    = threeway.Kept
)

// Change is what becomes of one field of live, and why.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, those of a set by their value.
	Path fieldpath.Path
	Verb Verb
	// From is live's value and To the one afterwards; nil where there is none. They are json.RawMessage, or decoded
	// values where the merge was of decoded values.
	From, To any
	// Owner is the field's owner in live; the zero Owned where nobody asked.
	Owner ownership.Owned
	// Row is the row of docs/decisions.md that decided; 0 where none did.
	Row int
}
