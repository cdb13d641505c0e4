package merge

import (
	"bytes"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/ownership"
)

// staleDefaults returns the defaults to clear because an applier's manifest contradicts them (row 7). A member that a manifest or a
// manager has declared is not cleared: the API server rejects the write. Nor is one that the write itself has changed.
func staleDefaults(w ownership.Write) (found []*Change) {
	for _, c := range apitypes.Contradictions(w.Kind.GroupKind(), w.Live.At(), w.Incoming.At()) {
		if w.Declared(c.Choice).Manifest != ownership.Sets || !w.Defaulted(c.Member) {
			continue
		}
		change := Change{Field: ownership.ContestedField{Path: c.Member}, Writer: w.Sender.Writer, Reason: c.By}
		change.Contradicted = bytes.Equal(w.Live.Value(c.Member), w.Incoming.Value(c.Member))
		if decided := change.decided(); decided.Decision.Verdict == Clear {
			found = append(found, decided)
		}
	}
	return found
}
