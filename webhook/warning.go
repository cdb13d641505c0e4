package webhook

import (
	"strings"
	"unicode"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// warningLimit is the length of a warning in bytes that no client cuts (k8s.io/api/admission/v1, AdmissionResponse).
const warningLimit = 120

// warning returns what the writer is told about a change: the field, the kept value, its owner, and what to do.
func (c change) warning(m mode) string {
	if c.Verdict == merge.Warn {
		return warningOf("", c.by, " owns "+c.path+" and may undo this change; change the autoscaler instead")
	}
	did := "kept "
	if m != modeEnforce {
		did = "(warn) would keep "
	}
	kept := did + c.path + " at " + c.live
	switch {
	case c.Row == 1 || c.Row == 8:
		return warningOf(kept+" for ", c.by, "; delete it from the manifest")
	case c.Row == 2:
		return warningOf(kept+" for ", c.by, "; there is nothing to do")
	case c.by == "" || c.field.Owner == ownership.Manifest:
		return warningOf(kept+", no longer in the manifest; from now on use kubectl scale", "", "")
	default:
		return warningOf(kept+", set by ", c.by, "; from now on use kubectl scale")
	}
}

// auditAnnotation returns the same for the API server's audit log.
func (c change) auditAnnotation(m mode) string {
	owner := c.field.Owner.String()
	if c.by != "" {
		owner = c.by + " (" + owner + ")"
	}
	verb := "kept"
	switch {
	case c.Verdict == merge.Warn:
		verb = "let through"
	case m != modeEnforce:
		verb = "would keep"
	}
	incoming := c.incoming
	if incoming == "" {
		incoming = "none"
	}
	return verb + " " + c.path + ": live " + c.live + ", incoming " + incoming + ", owner " + owner
}

// warningOf puts a warning together from two fixed parts and a name between them, which is shortened when the whole would
// be too long. Line breaks and other control characters become spaces: the API server makes a header of a warning, and
// drops one that has any.
func warningOf(before, name, after string) string {
	const prefix, dots = "handoff: ", "..."
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if over := len(prefix) + len(before) + len(name) + len(after) - warningLimit; over > 0 {
		name = name[:max(0, len(name)-over-len(dots))] + dots
	}
	text := prefix + before + name + after
	if len(text) > warningLimit {
		text = text[:warningLimit-len(dots)] + dots
	}
	return strings.ToValidUTF8(text, "")
}
