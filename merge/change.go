package merge

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// Change is the result of the decision on one contested field of a write.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, elements of a set by their values.
	Path fieldpath.Path
	// Verb is what the write does to the field, after the decision.
	Verb threeway.Verb
	// From is the value in live, To the value after the decision and Incoming the value that the writer sent, as JSON; nil if
	// the field is missing there.
	From, To, Incoming json.RawMessage
	// Owner is the field's owner in live.
	Owner ownership.FieldOwner
	// Field has the facts that the decision is based on.
	Field    Field
	Decision Decision
	// Choice is the value or member that excludes a cleared field, as "OnDelete".
	Choice string
	// Overruled is the reason why the manifest wins over a field to keep, as "the manifest sets valueFrom".
	Overruled string
}

// changeOf decides on a contested field. If the write creates the object, field.Live is the autoscaler's desired replicas.
func changeOf(field ownership.Contested, writer ownership.Writer) Change {
	c := Change{
		Path: field.Path, Owner: field.Owner, From: field.Live, To: field.Incoming, Incoming: field.Incoming,
		Field: Field{
			Owner: field.Owner.Kind, Writer: writer, Manifest: field.Declared.Manifest, Base: field.Declared.Base,
			Scale: field.Scale, Changed: field.Changed(), Removed: field.Removed,
		},
	}
	return c.decided()
}

// decided returns the change with the decision on c.Field.
func (c Change) decided() Change {
	c.Decision, c.Verb = Lookup(c.Field), threeway.Set
	switch c.Decision.Verdict {
	case Keep:
		c.Verb, c.To = threeway.Kept, c.From
	case Clear:
		c.Verb, c.To = threeway.Cleared, nil
	case Start:
		c.From, c.To = nil, c.From
	default:
	}
	return c
}

// yielding returns the change of a field to keep over which the manifest wins.
func (c Change) yielding(reason string) Change {
	c.Decision.Verdict, c.Overruled = Yield, reason
	c.Verb, c.To = threeway.Set, c.Incoming
	if len(c.Incoming) == 0 {
		c.Verb, c.To = threeway.Deleted, nil
	}
	return c
}

// Value returns the field's value in live or, if the write creates the object, the value that it gets, as JSON.
func (c Change) Value() json.RawMessage {
	if c.Decision.Verdict == Start {
		return c.To
	}
	return c.From
}

// Because returns the reason why a field does not get the value that was sent, and the remedy. They are the text that follows
// "kept .spec.replicas=7", in three parts, so that a caller can shorten the name in the middle.
func (c Change) Because() (before, name, after string) {
	name = c.Owner.By
	if name == "" {
		name = "an unnamed manager"
	}
	switch {
	case c.Decision.Verdict == Yield:
		return ", set by ", name, ": " + c.Overruled
	case c.Decision.Verdict == Clear:
		name = c.Choice
	case c.Decision.message.after == "": // the owner is the manifest itself
		name = ""
	}
	return c.Decision.message.before, name, c.Decision.message.after
}
