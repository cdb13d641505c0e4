package merge

import (
	"cmp"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
)

// Change is a contested field of a write, with the facts that the decision table uses and the decision.
type Change struct {
	// Field is the field. Its Live is the value that a patch gives it: for Start the replicas that the autoscaler wants, and for Record
	// the annotation.
	Field ownership.ContestedField
	// Writer is the kind of client that writes.
	Writer ownership.Writer
	// Starts reports whether the write creates the object, whose autoscaler wants more replicas than the manifest, which does not
	// set 0.
	Starts bool
	// ToOne reports whether a number of replicas above 1 becomes 1, and the manifest may have dropped it: server-side apply and
	// Helm 3 do not record the difference. ToOneInDiff reports the same of a dry run that may be that of kubectl diff (Write.Unsent).
	ToOne, ToOneInDiff bool
	// Unrecorded reports whether the write sets 1 replica and does not record whether its manifest does, as with Helm 3 and kubectl diff.
	Unrecorded bool
	// OffAtZero reports whether the owner is a scaler that 0 replicas, which someone else has set, have switched off. It only
	// changes the message.
	OffAtZero bool
	// Contradicted reports whether the manifest chooses another member of the field's union, and the write does not change the field.
	Contradicted bool

	Decision Decision
	// Reason is why the manifest wins over a field to keep, as "it exceeds limits.cpu", or the value or member that excludes a cleared field,
	// as "OnDelete".
	Reason string
}

// changeOf decides on a contested field about which nothing else is known.
func changeOf(field ownership.ContestedField, writer ownership.Writer) *Change {
	return Change{Field: field, Writer: writer, Reason: field.Unmatched}.decided()
}

// decided returns the change with the decision.
func (c Change) decided() *Change {
	c.Decision = Lookup(c)
	return &c
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
