package webhook

import (
	"strings"
	"time"
	"unicode"

	"github.com/ownership-handoff/handoff/ownership"
)

// aging is a Cluster that can be out of date, and knows since when.
type aging interface {
	Stale() (since time.Time, stale bool)
}

// modeOf returns the mode that holds for a review, and notes what is wrong with it. Where something is to be decided by
// facts that are out of date, that is noted as well: they are most likely still true, so that to reset replicas would do
// more harm than to keep them, but the writer must know.
func (h *Handler) modeOf(r *review) (m ownership.Mode, notes []string) {
	m, notes = h.annotatedMode(r)
	facts, ok := h.Cluster.(aging)
	if !ok || m == ownership.ModeOff {
		return m, notes
	}
	if since, stale := facts.Stale(); stale {
		age := time.Since(since).Truncate(time.Second).String()
		notes = append(notes, warningOf("cluster state is "+age+" old; autoscalers and modes may have changed since", "", ""))
	}
	return m, notes
}

// annotatedMode returns the mode of the incoming object's annotation, else its namespace's. An unknown value counts as
// warn and is noted.
func (h *Handler) annotatedMode(r *review) (m ownership.Mode, notes []string) {
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
