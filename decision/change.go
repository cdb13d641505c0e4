package decision

import (
	"encoding/json"

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
	// Overruled says why the manifest wins over a field that would be kept: "the manifest sets valueFrom".
	Overruled string
}

// changeOf looks a contested field up in the decision table. On a create, its live value is the one that it is given.
func changeOf(field ownership.Contested, writer ownership.Writer) Change {
	c := Change{
		Incoming: string(field.Incoming),
		Field: merge.Field{
			Owner: field.Owner, Writer: writer, Manifest: field.Manifest, Base: field.Base,
			Scale: field.Scale, Changed: field.Changed(), Removed: field.Removed,
		},
	}
	c.Path, c.Owner = field.Path, field.Owned
	c.From, c.To = json.RawMessage(field.Live), json.RawMessage(field.Incoming)
	return c.decided()
}

// decided returns the change that the decision table makes of a field.
func (c Change) decided() Change {
	decision := merge.Decide(c.Field)
	c.Verdict, c.Row, c.Verb = decision.Verdict, decision.Row, merge.FieldSet
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

// yielding returns the change where the manifest wins over a field that would be kept.
func (c Change) yielding(reason string) Change {
	c.Verdict, c.Verb, c.Overruled = merge.Yield, merge.FieldSet, reason
	c.To = json.RawMessage(c.Incoming)
	if c.Incoming == "" {
		c.Verb, c.To = merge.FieldDeleted, nil
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
	case c.Verdict == merge.Yield:
		return ", set by ", c.Owner.By, ": " + c.Overruled
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
