package audit

import (
	"fmt"
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// Table writes the report for people: a line for each risk, remedies, and a summary. The wide table has the managers, time and
// remedies of each risk.
func (r *Report) Table(w io.Writer, wide bool) error {
	var lines []string
	if len(r.Risks) > 0 {
		head := []string{"NAMESPACE", "OBJECT", "RISK", "FIELD", "NOW", "NEXT APPLY", "HANDOFF", "MANAGERS", "SINCE", "REMEDY"}
		if !wide {
			head = head[:7]
			lines = r.remedies()
		}
		rows := make([][]string, len(r.Risks))
		for i, risk := range r.Risks {
			for _, cell := range []string{
				risk.Object.Namespace, risk.Object.String(), string(risk.Kind), risk.Field, risk.Now, risk.NextApply, risk.Handoff,
				strings.Join(risk.Managers, ", "), risk.Since, strings.Join(risk.Remedies, "; "),
			}[:len(head)] {
				rows[i] = append(rows[i], table.Dash(cell))
			}
		}
		if err := table.Write(w, head, rows); err != nil {
			return err
		}
		lines = append(lines, "")
	}
	return table.Lines(w, append(append(lines, r.summary()), r.notes()...)...)
}

// remedies returns the remedies for the first risk of each kind.
func (r *Report) remedies() []string {
	lines := []string{"", "Remedies for the first risk of each kind (-o wide shows all):"}
	seen := map[Kind]bool{}
	for _, risk := range r.Risks {
		if seen[risk.Kind] {
			continue
		}
		seen[risk.Kind] = true
		lines = append(lines, "  "+string(risk.Kind))
		for _, remedy := range risk.Remedies {
			lines = append(lines, "    "+remedy)
		}
	}
	return lines
}

// summary returns the number of risks and of the audited objects.
func (r *Report) summary() string {
	text := "No risks"
	switch {
	case len(r.Risks) > 0:
		text = counted(len(r.Risks), "risk")
	case r.Objects == 0:
		text = "Nothing to audit"
	}
	text += " in " + counted(r.Objects, "object")
	if len(r.Resources) > 0 {
		text += " (" + first(r.Resources) + ")"
	}
	return text + "."
}

// notes returns what is no risk, and worth knowing.
func (r *Report) notes() (sentences []string) {
	changed := make([]string, len(r.Changed))
	for i, c := range r.Changed {
		changed[i] = fmt.Sprintf("%s of %s (%s)", c.Field, c.Object.Title(), c.Managers[0])
	}
	for _, note := range []struct {
		format string
		names  []string
	}{
		{"Not recorded: whether the manifest sets the replicas of %s. An autoscaler has taken over the field in managedFields from Helm " +
			"or server-side apply; check the manifest.", r.Unrecorded},
		{"Not recorded: whether a Helm 3 chart drops replicas, or a server-side apply sets them to null. If so, these scale to 1: %s.",
			r.ToOne},
		{"Annotation " + ownership.ControllerFieldsAnnotation + " of the manifest is missing, as after kubectl rollout undo; " +
			"apply again: %s.", r.Undone},
		{"Changed since the manifest set it: %s; the next apply overwrites it, and an apply that drops the field removes it; set the value " +
			"in the manifest, or name the field in a rule.", changed},
		{"Annotation " + optin.Annotation + " has no effect on objects; set the label of that name instead: %s.", r.Annotated},
	} {
		if len(note.names) > 0 {
			sentences = append(sentences, fmt.Sprintf(note.format, first(note.names)))
		}
	}
	for _, note := range r.Notes {
		sentences = append(sentences, "Note: "+note+".")
	}
	return sentences
}

// maxNames limits the names that a sentence lists.
const maxNames = 5

func first(names []string) string {
	return printable.Names(names[:min(len(names), maxNames)], len(names))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
