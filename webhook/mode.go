package webhook

import (
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
)

// modeOf returns the mode of a write, and notes about invalid modes and stale cluster state. Stale state is still used:
// it is most likely still true, so that resetting replicas would do more harm than keeping them. But the writer must know.
func (h *Handler) modeOf(w ownership.Write) (m optin.Mode, notes []string) {
	m, notes = h.declaredMode(w)
	if since, stale := h.Cluster.Stale(); stale && m != optin.Off {
		age := time.Since(since).Truncate(time.Second).String()
		notes = append(notes, warningOf(protocol.Stale+age+" old; autoscalers and modes may have changed since", "", ""))
	}
	return m, notes
}

// declaredMode returns the mode in the label of the incoming object, or else in the annotation of its namespace. An unknown value
// counts as warn, with a note. The API server also sends writes that remove the label: they are in the mode of the namespace.
func (h *Handler) declaredMode(w ownership.Write) (m optin.Mode, notes []string) {
	label, labeled := w.Incoming.ModeLabel()
	annotation, annotated := h.Cluster.NamespaceMode(w.Namespace)
	if labeled && label == protocol.ProbeMode && w.DryRun {
		mode, _ := optin.ModeOf(annotation, annotated)
		return optin.Warn, []string{warningOf(protocol.Answered, h.Settings().Version+", mode "+string(mode), "")}
	}
	text, m, known := optin.Of(label, labeled, annotation, annotated)
	switch {
	case known:
	case strings.TrimSpace(text) == "":
		notes = append(notes, warningOf(optin.Label+" is empty and counts as warn; write enforce, warn or off", "", ""))
	default:
		notes = append(notes, warningOf(optin.Label+" ", text, " is unknown and counts as warn; write enforce, warn or off"))
	}
	if _, leftover := w.Incoming.Annotation(optin.Annotation).String(); leftover && m != optin.Off {
		notes = append(notes, warningOf("annotation "+optin.Annotation+
			" has no effect on objects; set the label of that name instead", "", ""))
	}
	return m, notes
}
