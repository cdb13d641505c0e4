package merge

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Verb says what a merge did to a field of live.
type Verb int

// The verbs.
const (
	// FieldAdded: live lacked the field, and the manifest sets it.
	FieldAdded Verb = iota
	// FieldSet: live had another value, or a list had another order.
	FieldSet
	// FieldDeleted: the base has the field, and the manifest lacks it.
	FieldDeleted
	// FieldCleared: the manifest says null, or sets another member of a union (patchStrategy=retainKeys).
	FieldCleared
	// FieldKept: the manifest says otherwise, and the field's owner keeps it as it is in live.
	FieldKept
)

// String returns the verb as messages write it.
func (v Verb) String() string {
	switch v {
	case FieldAdded:
		return "added"
	case FieldSet:
		return "set"
	case FieldDeleted:
		return "deleted"
	case FieldCleared:
		return "cleared"
	case FieldKept:
		return "kept"
	default:
		return "unknown"
	}
}

// Change is what a merge did to one field of live, and why. What became of a whole subtree is one change, at its top.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, those of a set by their value.
	Path fieldpath.Path
	Verb Verb
	// From is live's value and To the result's; nil where there is none. They are decoded values where the merge was of
	// decoded values, and json.RawMessage where it was of texts.
	From, To any
	// Owner is whose the field was in live; the zero Owned where nobody asked.
	Owner ownership.Owned
	// Row is the row of docs/decisions.md that decided; 0 where none did.
	Row int
}

// record notes a change, when changes are asked for.
func (m *merger) record(verb Verb, from, to *node, owner ownership.Owned, row int) {
	if m.options.Changes == nil {
		return
	}
	change := Change{Path: m.path(), Verb: verb, Owner: owner, Row: row}
	if from != nil {
		change.From = from.export()
	}
	if to != nil {
		change.To = to.export()
	}
	*m.options.Changes = append(*m.options.Changes, change)
}

// export returns the value as a caller gets to see it.
func (n *node) export() any {
	if n.decoded {
		return n.decode()
	}
	return json.RawMessage(n.appendText(nil))
}
