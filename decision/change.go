package decision

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// Change is what becomes of a field of a write: the change that package merge knows, and how it was decided. From and To are
// json.RawMessage.
type Change struct {
	merge.Change

	Verdict merge.Verdict
	Field   merge.Field
	// Incoming is the value that the writer sent, as JSON.
	Incoming string
	// Choice is what contradicts a field that is cleared, in a word: "OnDelete".
	Choice string
}

// changeOf looks a field up in the decision table. Live and incoming are its values as JSON; on a create, live is the
// value that it is given.
func changeOf(path fieldpath.Path, field merge.Field, by, live, incoming string) Change {
	decision := merge.Decide(field)
	c := Change{Verdict: decision.Verdict, Field: field, Incoming: incoming}
	c.Change = merge.Change{
		Path: path, Row: decision.Row, Owner: ownership.Owned{Owner: field.Owner, By: by},
		From: json.RawMessage(live), To: json.RawMessage(incoming), Verb: merge.FieldSet,
	}
	switch decision.Verdict {
	case merge.Keep:
		c.Verb, c.To = merge.FieldKept, c.From
	case merge.Clear:
		c.Verb, c.To = merge.FieldCleared, nil
	case merge.Start:
		c.From, c.To = nil, c.From
	default:
	}
	return c
}

// Value returns the value that the field has in live or, on a create, is given; as JSON.
func (c Change) Value() string {
	of := c.From
	if c.Verdict == merge.Start {
		of = c.To
	}
	text, _ := of.(json.RawMessage)
	return string(text)
}

// Because says why a field is not what the writer sent, and what to do about that: the words that follow "kept .spec.replicas
// at 7", with the name of the owner between them.
func (c Change) Because() (before, by, after string) {
	switch {
	case c.Verdict == merge.Clear:
		return ", a default that " + c.Choice + " contradicts", "", "; there is nothing to do"
	case c.Row == 1 || c.Row == 8 || c.Row == 12 && c.Field.Manifest == ownership.Sets:
		return " for ", c.Owner.By, "; delete it from the manifest"
	case c.Row == 2 || c.Row == 12:
		return " for ", c.Owner.By, "; there is nothing to do"
	case !c.Field.Scale:
		return ", set by ", c.Owner.By, "; the manifest has let go of it"
	case c.Owner.By == "" || c.Owner.Owner == ownership.Manifest:
		return ", no longer in the manifest; from now on use kubectl scale", "", ""
	default:
		return ", set by ", c.Owner.By, "; from now on use kubectl scale"
	}
}
