package webhook

import (
	"strings"
	"unicode"

	"github.com/ownership-handoff/handoff/ownership"
)

// mode is what handoff does in a namespace or to an object.
type mode string

const (
	modeOff     mode = "off"
	modeWarn    mode = "warn"
	modeEnforce mode = "enforce"
)

// modeOf returns the mode that holds for a review: the incoming object's annotation, else its namespace's. An unknown
// value counts as warn and is noted.
func (h *Handler) modeOf(r *review) (m mode, notes []string) {
	text, ok := r.incoming.Mode()
	if !ok {
		text, ok = h.Cluster.NamespaceMode(r.namespace)
	}
	switch {
	case !ok, mode(text) == modeOff:
		return modeOff, nil
	case mode(text) == modeEnforce, mode(text) == modeWarn:
		return mode(text), nil
	case strings.IndexFunc(text, visible) < 0:
		return modeWarn, []string{
			warningOf(ownership.ModeAnnotation+" is empty and counts as warn; write enforce, warn or off", "", ""),
		}
	default:
		return modeWarn, []string{
			warningOf(ownership.ModeAnnotation+" ", text, " is unknown and counts as warn; write enforce, warn or off"),
		}
	}
}

func visible(c rune) bool { return !unicode.IsSpace(c) && !unicode.IsControl(c) }
