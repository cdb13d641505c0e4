package webhook

import (
	"strings"
	"time"
	"unicode"

	"github.com/ownership-handoff/handoff/ownership"
)

// staleCluster is a Cluster that reports whether it is stale, and since when.
type staleCluster interface {
	Stale() (since time.Time, stale bool)
}

// modeOf returns the mode of a review, and notes about invalid modes and stale cluster state. Stale state is still used:
// it is most likely still true, so that resetting replicas would do more harm than keeping them. But the writer must know.
func (h *Handler) modeOf(r *review) (m ownership.Mode, notes []string) {
	m, notes = h.declaredMode(r)
	cluster, ok := h.Cluster.(staleCluster)
	if !ok || m == ownership.ModeOff {
		return m, notes
	}
	if since, stale := cluster.Stale(); stale {
		age := time.Since(since).Truncate(time.Second).String()
		notes = append(notes, warningOf("cluster state is "+age+" old; autoscalers and modes may have changed since", "", ""))
	}
	return m, notes
}

// probeMode is the mode label with which kubectl handoff doctor checks, in a dry run, that the API
// server reaches the webhook. In a write that is stored, it is an unknown value like any other.
const probeMode = "doctor"

// declaredMode returns the mode in the label of the incoming object, or else in the annotation of its namespace. An unknown value
// counts as warn, with a note. The API server also sends writes that remove the label: they are in the mode of the namespace.
func (h *Handler) declaredMode(r *review) (m ownership.Mode, notes []string) {
	text, ok := r.incoming.ModeLabel()
	if ok && text == probeMode && r.dryRun {
		return ownership.ModeWarn, []string{warningOf("doctor: answered by handoff-webhook ", h.Version, "")}
	}
	if !ok {
		text, ok = h.Cluster.NamespaceMode(r.namespace)
	}
	m, known := ownership.ModeOf(text, ok)
	switch {
	case known:
	case strings.IndexFunc(text, visible) < 0:
		notes = append(notes, warningOf(ownership.ModeLabel+" is empty and counts as warn; write enforce, warn or off", "", ""))
	default:
		notes = append(notes, warningOf(ownership.ModeLabel+" ", text, " is unknown and counts as warn; write enforce, warn or off"))
	}
	if _, leftover := r.incoming.ModeAnnotation(); leftover && m != ownership.ModeOff {
		notes = append(notes, warningOf("annotation "+ownership.ModeAnnotation+
			" has no effect on objects; set the label of that name instead", "", ""))
	}
	return m, notes
}

func visible(c rune) bool { return !unicode.IsSpace(c) && !unicode.IsControl(c) }
