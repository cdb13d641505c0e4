package webhook

import (
	"strings"
	"unicode"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// change is a decision on a field, with what its texts need.
type change struct {
	Change merge.Change

	mode   ownership.Mode
	secret bool // whether the value must not appear in any text
}

// warningLimit is the length in bytes up to which warnings are not truncated (k8s.io/api/admission/v1, AdmissionResponse).
const warningLimit = 120

// shortName is the length to which an owner's name is cut before any other part of the warning.
const shortName = 16

// warning returns the text for the writer: the field, the kept value, its owner, and what to do. If it is too long, the end
// of the owner's name is cut first, then the value, then the front of the path.
func (c change) warning() string {
	path, value := c.Change.Path.String(), c.shortValue()
	if c.overlong(path, value) > 0 {
		value = ""
	}
	if over := c.overlong(path, value); over > 0 && over+len("...") < len(path) {
		path = "..." + path[over+len("..."):]
	}
	before, name, after := c.words(path, value)
	return warningOf(before, name, after)
}

// overlong returns by how many bytes a warning is too long, even with a short name.
func (c change) overlong(path, value string) int {
	before, name, after := c.words(path, value)
	return len(protocol.WarningPrefix) + len(before) + min(len(name), shortName) + len(after) - warningLimit
}

// isHeldBack reports whether the manifest sets replicas that an autoscaler keeps it from changing. If the same commit deletes the
// autoscaler, the apply comes first.
func (c change) isHeldBack() bool {
	f := c.Change.Field
	kept := f.Scale && f.Owner == ownership.Autoscaler && c.Change.Decision.Verdict == merge.Keep
	return kept && f.Manifest == ownership.Sets && f.Changed && !f.OffAtZero
}

// words returns the warning in three parts: before the owner's name, the name, and after it.
func (c change) words(path, value string) (before, name, after string) {
	if c.Change.Decision.Verdict == merge.ManifestWins {
		value = ""
	}
	before, name, after = c.Change.Text(c.effect().did+" "+path+value, path)
	verdict := c.Change.Decision.Verdict
	if c.mode != ownership.ModeEnforce && verdict != merge.Warn && verdict != merge.Removed {
		before, after = "(warn) "+before, strings.TrimSuffix(after, merge.NoAction) // nothing was done
	}
	return before, name, after
}

// effect is what the texts say that was done, and the reason of the Event about it. There is no Event if nothing was to be done.
type effect struct{ did, event string }

var effects = map[merge.Verdict]struct{ enforce, warn effect }{
	merge.Keep:         {effect{"kept", "OwnershipKept"}, effect{"would keep", "OwnershipWouldBeKept"}},
	merge.Start:        {effect{"started with", "OwnershipKept"}, effect{"would start with", "OwnershipWouldBeKept"}},
	merge.Clear:        {effect{"cleared", "DefaultCleared"}, effect{"would clear", "DefaultWouldBeCleared"}},
	merge.ManifestWins: {effect{"not kept", "OwnershipOverruled"}, effect{"would not keep", "OwnershipWouldBeOverruled"}},
	merge.Removed:      {effect{did: "removed"}, effect{did: "removed"}},
	merge.Warn:         {effect{did: "allowed"}, effect{did: "allowed"}},
}

func (c change) effect() effect {
	effects := effects[c.Change.Decision.Verdict]
	if c.mode == ownership.ModeEnforce {
		return effects.enforce
	}
	return effects.warn
}

// shortValue returns "=" and the kept value if it is short. The response contains the whole object, so the writer learns nothing
// new; logs, Events and audit annotations never contain values of other fields than the scale field.
func (c change) shortValue() string {
	value := string(c.Change.Value())
	if c.secret || len(value) > 20 || value == "" || value[0] == '{' || value[0] == '[' {
		return ""
	}
	return "=" + strings.Trim(value, `"`)
}

// record returns the decision for the audit log and the webhook's log.
func (c change) record() string {
	owner := c.Change.Owner.Kind.String()
	if c.Change.Owner.By != "" {
		owner = c.Change.Owner.By + " (" + owner + ")"
	}
	verb := c.effect().did
	if !c.Change.Field.Scale {
		return verb + " " + c.Change.Path.String() + ": owner " + owner
	}
	incoming := string(c.Change.Incoming)
	if incoming == "" {
		incoming = "none"
	}
	return verb + " " + c.Change.Path.String() + ": live " + string(c.Change.Value()) + ", incoming " + incoming + ", owner " + owner
}

// warningOf joins a warning from two fixed parts and the name between them, which is cut if the whole is too long. Line breaks
// and other control characters become spaces: the API server sends warnings as HTTP headers, and drops one that contains any.
func warningOf(before, name, after string) string {
	const dots = "..."
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if over := len(protocol.WarningPrefix) + len(before) + len(name) + len(after) - warningLimit; over > 0 {
		name = name[:max(0, len(name)-over-len(dots))] + dots
	}
	text := protocol.WarningPrefix + before + name + after
	if len(text) > warningLimit {
		text = text[:warningLimit-len(dots)] + dots
	}
	return strings.ToValidUTF8(text, "")
}
