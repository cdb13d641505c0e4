package webhook

import (
	"cmp"
	"strings"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// warningLimit is the length in bytes up to which warnings are not truncated (k8s.io/api/admission/v1, AdmissionResponse).
const warningLimit = 120

// shortName is the length to which an owner's name is cut before any other part of the warning.
const shortName = 16

// warning returns the text for the writer: the field, the kept value, its owner, and what to do. If it is too long, the end
// of the owner's name is cut first, then the value, then the front of the path.
func (out outcome) warning(c *merge.Change) string {
	path, value := printable.Text(c.Field.Path.String()), out.shortValue(c)
	if out.overlong(c, path, value) > 0 {
		value = ""
	}
	if over := out.overlong(c, path, value); over > 0 && over+len("...") < len(path) {
		path = "..." + strings.ToValidUTF8(path[over+len("..."):], "")
	}
	before, name, after := out.words(c, path, value)
	return warningOf(before, name, after)
}

// overlong returns by how many bytes a warning is too long, even with a short name.
func (out outcome) overlong(c *merge.Change, path, value string) int {
	before, name, after := out.words(c, path, value)
	return len(protocol.WarningPrefix) + len(before) + min(len(name), shortName) + len(after) - warningLimit
}

// isHeldBack reports whether the manifest sets replicas that an autoscaler keeps it from changing, and that it changes once the object of
// the autoscaler is deleted, which does nothing else. One without an object is known by what it has written, and stays the owner. If the
// same commit deletes the autoscaler, the apply comes first.
func isHeldBack(c *merge.Change) bool {
	f := c.Field
	kind, _, isObject := f.Owner.Object()
	isKept := f.Scale && isObject && !scale.OwnsPods(kind) && c.Decision.Verdict == merge.Keep
	return isKept && f.Declared.Manifest == ownership.Sets && f.Changed() && !c.OffAtZero
}

// words returns the warning in three parts: before the owner's name, the name, and after it.
func (out outcome) words(c *merge.Change, path, value string) (before, name, after string) {
	before, name, after = c.Text(out.deed(c).did+" "+path+value, path)
	verdict := c.Decision.Verdict
	if out.mode != optin.Enforce && verdict != merge.Warn && verdict != merge.Removed {
		before, after = "(warn) "+before, strings.TrimSuffix(after, merge.NoAction) // nothing was done
	}
	return before, name, after
}

// deed is what the texts say that was done, and the reason of the Event about it. There is no Event if nothing was to be done.
type deed struct{ did, event string }

// deeds are what is done in mode enforce, and what mode warn says would be done; both are the same if it is empty.
var deeds = map[merge.Verdict]struct {
	event string
	warn  deed
}{
	merge.Keep:         {"OwnershipKept", deed{"would keep", "OwnershipWouldBeKept"}},
	merge.Start:        {"OwnershipKept", deed{"would start with", "OwnershipWouldBeKept"}},
	merge.Clear:        {"DefaultCleared", deed{"would clear", "DefaultWouldBeCleared"}},
	merge.ManifestWins: {"OwnershipOverruled", deed{"would not keep", "OwnershipWouldBeOverruled"}},
}

func (out outcome) deed(c *merge.Change) deed {
	of := deeds[c.Decision.Verdict]
	if out.mode == optin.Enforce || of.warn.did == "" {
		return deed{c.Decision.Verdict.Done(), of.event}
	}
	return of.warn
}

// shortValue returns "=" and the kept value if it is short. The response contains the whole object, so the writer learns nothing
// new; logs, Events and audit annotations never contain values of other fields than the scale field.
func (out outcome) shortValue(c *merge.Change) string {
	value := string(c.Field.Live)
	if out.secret || c.Decision.Verdict == merge.ManifestWins || len(value) > 20 || value == "" || value[0] == '{' || value[0] == '[' {
		return ""
	}
	return "=" + strings.Trim(value, `"`)
}

// record returns the decision for the audit log and the log. A path that is long, or could imitate another record, is that of Events.
func (out outcome) record(c *merge.Change) string {
	path := c.Field.Path.String()
	if len(path) > 4*maxEventPath || strings.ContainsAny(path, " ;") || printable.Text(path) != path {
		path = plainPath(path)
	}
	return out.sentence(c, path, c.Field.Owner)
}

// sentence returns what was done to a field, with the values of replicas.
func (out outcome) sentence(c *merge.Change, path string, of ownership.FieldOwner) string {
	owner, values := of.Kind.String(), ""
	if of.By != "" {
		owner = strings.ReplaceAll(of.By, ";", "?") + " (" + owner + ")"
	}
	if c.Field.Scale {
		values = "live " + cmp.Or(string(c.Field.Live), "none") + ", incoming " + cmp.Or(string(c.Field.Incoming), "none") + ", "
	}
	return out.deed(c).did + " " + path + ": " + values + "owner " + owner
}

// warningOf joins a warning from two parts and the name between them, which is cut if the whole is too long. Line breaks in it
// become spaces, and other characters that are not printable are escaped: the API server sends warnings as HTTP headers without any.
func warningOf(before, name, after string) string {
	const dots = "..."
	before, name, after = printable.Text(before), printable.Text(strings.Join(strings.Fields(name), " ")), printable.Text(after)
	if over := len(protocol.WarningPrefix) + len(before) + len(name) + len(after) - warningLimit; over > 0 {
		name = name[:max(0, len(name)-over-len(dots))] + dots
	}
	text := protocol.WarningPrefix + before + name + after
	if len(text) > warningLimit {
		text = text[:warningLimit-len(dots)] + dots
	}
	return strings.ToValidUTF8(text, "")
}
