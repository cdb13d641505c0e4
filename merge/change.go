package merge

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Change is the result of the decision on one contested field of a write.
type Change struct {
	// Path leads to the field. Elements of a keyed list are named by their keys, elements of a set by their values.
	Path fieldpath.Path
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
		Scale: field.Scale, Unit: field.Unit, Changed: field.Changed(), Removed: field.Removed,
	}
}

// changeOf decides on a contested field by its facts. If the write creates the object, field.Live is the autoscaler's desired
// replicas.
func changeOf(field ownership.ContestedField, facts Field) Change {
	c := Change{
		Path: field.Path, Owner: field.Owner, From: field.Live, To: field.Incoming, Incoming: field.Incoming,
		Field: facts, Decision: Lookup(facts),
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

// manifestWins returns the change of a field to keep over which the manifest wins.
func (c Change) manifestWins(reason string) Change {
	c.Decision.Verdict, c.Decision.message, c.Reason = ManifestWins, winsBecause(reason), reason
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

// Text returns the text about the decision, with the reason and the remedy. It is in three parts, so that a caller can shorten
// the name in the middle. Most texts begin with what was done, as "kept .spec.replicas=7"; that of Warn begins with the owner,
// and has the field's path in it.
func (c Change) Text(done, path string) (before, name, after string) {
	m := c.Decision.message
	switch m.name {
	case theOwner:
		if name = c.Owner.By; name == "" {
			name = "an unnamed manager"
		}
	case theChoice:
		name = c.Choice
	case nothing:
	}
	switch {
	case m.ownerFirst:
		return "", name, m.before + path + m.after
	case m.fieldFirst:
		return path, "", strings.Replace(m.after, "%s", string(c.From), 1)
	}
	return done + m.before, name, m.after
}
