package webhook

import (
	"strings"
	"unicode"

	"github.com/ownership-handoff/handoff/ownership"
)

// modeOf returns the mode that holds for a review: the incoming object's annotation, else its namespace's. An unknown
// value counts as warn and is noted.
func (h *Handler) modeOf(r *review) (m ownership.Mode, notes []string) {
	text, ok := r.incoming.Mode()
	if !ok {
		text, ok = h.Cluster.NamespaceMode(r.namespace)
	}
	if !ok {
		return ownership.ModeOff, nil
	}
	m, known := ownership.ParseMode(text)
	switch {
	case known:
		return m, nil
	case strings.IndexFunc(text, visible) < 0:
		return m, []string{
			warningOf(ownership.ModeAnnotation+" is empty and counts as warn; write enforce, warn or off", "", ""),
		}
	default:
		return m, []string{
			warningOf(ownership.ModeAnnotation+" ", text, " is unknown and counts as warn; write enforce, warn or off"),
		}
	}
}

func visible(c rune) bool { return !unicode.IsSpace(c) && !unicode.IsControl(c) }
