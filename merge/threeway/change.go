package threeway

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Verb is what a merge does to a field of live.
type Verb int

// The verbs.
const (
	// Added: live lacks the field, and the manifest sets it.
	Added Verb = iota
	// Set: live has another value, or a list another order.
	Set
	// Deleted: the base has the field, and the manifest lacks it.
	Deleted
	// Cleared: the manifest says null, or sets another member of a union (patchStrategy=retainKeys).
	Cleared
	// Kept: the manifest says otherwise, and Options.Keep keeps live's value.
	Kept
)

// String returns the verb in lower case, as messages write it.
func (v Verb) String() string {
	switch v {
	case Added:
		return "added"
	case Set:
		return "set"
	case Deleted:
		return "deleted"
	case Cleared:
		return "cleared"
	case Kept:
		return "kept"
	default:
		return "unknown"
	}
}

// Change is what a merge does to one field of live. A subtree that comes or goes whole is one change, at its top.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, those of a set by their value.
	Path fieldpath.Path
	Verb Verb
	// From is live's value and To the result's; nil where there is none. They are decoded values after Merge, and
	// json.RawMessage after MergeJSON.
	From, To any
}

// change returns the change that is made, or is about to be made, to the field at hand.
func (m *merger) change(verb Verb, from, to *node) Change {
	change := Change{Path: m.path(), Verb: verb}
	if from != nil {
		change.From = from.export()
	}
	if to != nil {
		change.To = to.export()
	}
	return change
}

// record notes a change, when changes are asked for.
func (m *merger) record(verb Verb, from, to *node) {
	if m.options.Changes != nil {
		*m.options.Changes = append(*m.options.Changes, m.change(verb, from, to))
	}
}

// keeps asks whether a field of live stays in spite of a change, and notes that it does.
func (m *merger) keeps(verb Verb, from, to *node) bool {
	if m.options.Keep == nil || !m.options.Keep(m.change(verb, from, to)) {
		return false
	}
	m.record(Kept, from, from)
	return true
}

// export returns the value as a caller gets to see it.
func (n *node) export() any {
	if n.decoded {
		return n.decode()
	}
	return json.RawMessage(n.appendText(nil))
}
