package threeway

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Verb is the kind of a Change.
type Verb string

// The verbs.
const (
	// Added: the manifest sets the field, and live lacks it.
	Added Verb = "added"
	// Set: the manifest sets the field, and live has another value or, for a list, another order.
	Set Verb = "set"
	// Deleted: the base has the field, and the manifest lacks it.
	Deleted Verb = "deleted"
	// Cleared: the manifest sets the field to null, or sets another member of its union (patchStrategy=retainKeys).
	Cleared Verb = "cleared"
)

// Change is a change that a merge makes to one field of live. An object or list that is added or deleted as a whole is one
// change.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, elements of a set by their values.
	Path fieldpath.Path
	Verb Verb
	// From is live's value and To the result's, nil if the field is missing there.
	From, To json.RawMessage
}

// record records a change to the current field, if the merge reports changes.
func (m *merger) record(verb Verb, from, to *node) {
	if m.options.Report == nil {
		return
	}
	change := Change{Path: m.at.FieldPath(), Verb: verb}
	if from != nil {
		change.From = from.AppendText(nil)
	}
	if to != nil {
		change.To = to.AppendText(nil)
	}
	m.changes = append(m.changes, change)
}
