package merge

import (
	"cmp"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
)

// Outcome is the result of the decisions on a write. The zero Outcome does not modify the write.
type Outcome struct {
	// Changes are the fields that do not get the value that the writer sent, and the fields to warn the writer about.
	Changes []*Change
	// Operations are a JSON patch (RFC 6902) on the incoming object.
	Operations []Operation
	// InvalidPaths is the error about the paths in annotation ownership.ControllerFieldsAnnotation that do not parse and are
	// ignored; nil if all parse.
	InvalidPaths error
	// Skipped is the error because of which only the scale field was decided; nil if all fields were. It is ErrBudget, ErrPanic,
	// ErrNotRestored, ownership.ErrManagedFields or ownership.ErrLastApplied.
	Skipped error
}

// Change is a contested field of a write, with the facts that the decision table uses and the decision.
type Change struct {
	// Field is the field. Its Live is the value that a patch gives it: for Start the replicas that the autoscaler wants, and for Record
	// the annotation.
	Field ownership.ContestedField
	// Writer is the kind of client that writes.
	Writer ownership.Writer
	// Starts reports whether the write creates the object.
	Starts bool
	// ToOne reports whether a number of replicas above 1 becomes 1, and the manifest may have dropped it: Helm 3 does not record the
	// difference, and server-side apply does not if the manifest has null. ToOneInDiff reports the same of a dry run that may be that
	// of kubectl diff (Write.Unsent).
	ToOne, ToOneInDiff bool
	// Unrecorded reports whether the write sets 1 replica and does not record whether its manifest does, as with Helm 3 and kubectl diff.
	Unrecorded bool
	// OffAtZero reports whether the owner is a scaler that 0 replicas, which someone else has set, have switched off. It only
	// changes the message.
	OffAtZero bool
	Decision  Decision
	// Reason is why the manifest wins over a field to keep, as "it exceeds limits.cpu", or the value or member that excludes a cleared field,
	// as "OnDelete".
	Reason string
}

// changeOf decides on a contested field about which nothing else is known.
func changeOf(field ownership.ContestedField, writer ownership.Writer) *Change {
	return Change{Field: field, Writer: writer, Reason: cmp.Or(field.Unmatched, field.Contradicts)}.decided()
}

// decided returns the change with the decision.
func (c Change) decided() *Change {
	c.Decision = Lookup(c)
	return &c
}

// recorded returns the change if what the manifest sets in fields with EditApply is recorded or, if not, one that promises no edit.
func (c *Change) recorded(isRecorded bool) *Change {
	if isRecorded || !c.Field.Editable {
		return c
	}
	without := *c
	without.Field.Editable = false
	return without.decided()
}

// restores reports whether the patch has to give the field another value than the write.
func (c *Change) restores() bool {
	return c.Decision.Verdict == Keep || c.Decision.Verdict == Start || c.Decision.Verdict == Record
}

// Text returns the text about the decision, with the reason and the remedy. done is what was done, as "kept .spec.replicas=7", and
// path the field's path. The text is in three parts, so that a caller can shorten the name in the middle.
func (c *Change) Text(done, path string) (before, name, after string) {
	before, after, hasOwner := strings.Cut(string(c.Decision.message), "{owner}")
	if hasOwner {
		name = cmp.Or(c.Field.Owner.By, "an unnamed manager")
	} else {
		before, after, _ = strings.Cut(before, "{choice}")
		name = c.Reason
	}
	fill := strings.NewReplacer("{field}", done, "{path}", path, "{live}", string(c.Field.Live), "{reason}", c.Reason)
	return fill.Replace(before), name, fill.Replace(after)
}
