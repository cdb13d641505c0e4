package webhook

import (
	"strings"
	"unicode"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// warningLimit is the length of a warning in bytes that no client cuts (k8s.io/api/admission/v1, AdmissionResponse).
const (
	warningLimit  = 120
	warningPrefix = "handoff: "
)

// shortName is how much of an owner's name is left before anything else of a warning is shortened.
const shortName = 16

// warning returns what the writer is told about a change: the field, the kept value, its owner, and what to do. Where that
// is too long, first the end of the name goes, then the value, then the front of the path.
func (c change) warning(m ownership.Mode) string {
	path, value := c.Path.String(), c.shortValue()
	if c.overlong(m, path, value) > 0 {
		value = ""
	}
	if over := c.overlong(m, path, value); over > 0 && over+len("...") < len(path) {
		path = "..." + path[over+len("..."):]
	}
	before, by, after := c.words(m, path, value)
	return warningOf(before, by, after)
}

// overlong is by how many bytes a warning is too long, even with a short name.
func (c change) overlong(m ownership.Mode, path, value string) int {
	before, by, after := c.words(m, path, value)
	return len(warningPrefix) + len(before) + min(len(by), shortName) + len(after) - warningLimit
}

// words are what is told, around the name of the owner.
func (c change) words(m ownership.Mode, path, value string) (before, by, after string) {
	if c.Verdict == merge.Yield {
		value = ""
	}
	if c.Verdict == merge.Warn {
		return "", c.Owner.By, " owns " + path + " and may undo this change; change the autoscaler instead"
	}
	did := c.did(m) + " "
	if m != ownership.ModeEnforce {
		did = "(warn) " + did
	}
	before, by, after = c.Because()
	if m != ownership.ModeEnforce && c.Verdict == merge.Clear {
		after = "" // there is something to do
	}
	return did + path + value + before, by, after
}

// did says in a word what was done or, under warn, would have been.
func (c change) did(m ownership.Mode) string {
	would, done := "would keep", "kept"
	switch c.Verdict {
	case merge.Warn:
		return "let through"
	case merge.Start:
		would, done = "would start", "started"
	case merge.Clear:
		would, done = "would clear", "cleared"
	case merge.Yield:
		would, done = "would not keep", "not kept"
	default:
	}
	if m == ownership.ModeEnforce {
		return done
	}
	return would
}

// shortValue is the kept value, when it is short. The writer gets the whole object back with the answer, so this tells
// them nothing that they may not know; logs, events and audit annotations never have the value of any but scale fields.
func (c change) shortValue() string {
	if c.secret || len(c.Value()) > 20 || c.Value() == "" || c.Value()[0] == '{' || c.Value()[0] == '[' {
		return ""
	}
	return " at " + strings.Trim(c.Value(), `"`)
}

// record returns what was decided for those who read the audit log, the events or the log of the webhook.
func (c change) record(m ownership.Mode) string {
	owner := c.Owner.Owner.String()
	if c.Owner.By != "" {
		owner = c.Owner.By + " (" + owner + ")"
	}
	verb := c.did(m)
	if !c.Field.Scale {
		return verb + " " + c.Path.String() + ": owner " + owner
	}
	incoming := c.Incoming
	if incoming == "" {
		incoming = "none"
	}
	return verb + " " + c.Path.String() + ": live " + c.Value() + ", incoming " + incoming + ", owner " + owner
}

// warningOf puts a warning together from two fixed parts and a name between them, which is shortened when the whole would
// be too long. Line breaks and other control characters become spaces: the API server makes a header of a warning, and
// drops one that has any.
func warningOf(before, name, after string) string {
	const dots = "..."
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if over := len(warningPrefix) + len(before) + len(name) + len(after) - warningLimit; over > 0 {
		name = name[:max(0, len(name)-over-len(dots))] + dots
	}
	text := warningPrefix + before + name + after
	if len(text) > warningLimit {
		text = text[:warningLimit-len(dots)] + dots
	}
	return strings.ToValidUTF8(text, "")
}
