package merge

import (
	"cmp"
	"encoding/json"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Change is the result of the decision on one contested field of a write.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, elements of a set by their values.
	Path fieldpath.Path
	// Atomic is the path of the atomic field that contains the field, nil if there is none (ownership.ContestedField).
	Atomic fieldpath.Path
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
	// Reason is why the manifest wins over a field to keep, as "it exceeds limits.cpu".
	Reason string
}

// factsOf returns the facts about a contested field that the decision table uses.
func factsOf(field ownership.ContestedField, writer ownership.Writer) Field {
	return Field{
		Owner: field.Owner.Kind, Writer: writer, Manifest: field.Declared.Manifest, Base: field.Declared.Base,
		Scale: field.Scale, Unit: field.Unit, Changed: field.Changed(), Removed: field.Removed, Editable: field.Editable, Edited: field.Edited,
		Inside: field.Atomic != nil,
	}
}

// changeOf decides on a contested field by its facts. If the write creates the object, field.Live is the autoscaler's desired
// replicas.
func changeOf(field ownership.ContestedField, facts Field) Change {
	c := Change{
		Path: field.Path, Atomic: field.Atomic, Owner: field.Owner, From: field.Live, To: field.Incoming, Incoming: field.Incoming,
		Field: facts, Decision: Lookup(facts), Reason: field.Unmatched,
	}
	switch c.Decision.Verdict {
	case Keep:
		c.To = c.From
	case Clear:
		c.To = nil
	case Start:
		c.From, c.To = nil, c.From
	default:
	}
	return c
}

// restores reports whether a patch has to give the field another value than the write.
func (c Change) restores() bool { return c.Decision.Verdict != Warn && c.Decision.Verdict != Clear }

// manifestWins returns the change of a field to keep over which the manifest wins.
func (c Change) manifestWins(reason string) Change {
	c.Decision.Verdict, c.Decision.message, c.Reason = ManifestWins, manifestWins, reason
	c.To = c.Incoming
	if len(c.Incoming) == 0 {
		c.To = nil
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

// Text returns the text about the decision, with the reason and the remedy. done is what was done, as "kept .spec.replicas=7", and
// path the field's path. The text is in three parts, so that a caller can shorten the name in the middle.
func (c Change) Text(done, path string) (before, name, after string) {
	before, after, hasOwner := strings.Cut(string(c.Decision.message), "{owner}")
	if hasOwner {
		name = cmp.Or(c.Owner.By, "an unnamed manager")
	} else {
		before, after, _ = strings.Cut(before, "{choice}")
		name = c.Choice
	}
	fill := strings.NewReplacer("{field}", done, "{path}", path, "{live}", string(c.From), "{reason}", c.Reason)
	return fill.Replace(before), name, fill.Replace(after)
}
