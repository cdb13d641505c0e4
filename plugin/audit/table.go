package audit

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
)

// Table writes the report for people: a line for each risk, remedies, and a summary. The wide table has the managers, time and
// remedies of each risk.
func (r *Report) Table(w io.Writer, wide bool) error {
	lines := append([]string{r.summary()}, r.notes()...)
	if len(r.Risks) == 0 {
		return table.Lines(w, lines...)
	}
	lines = append([]string{""}, lines...)
	head := []string{"NAMESPACE", "OBJECT", "RISK", "FIELD", "NOW", "NEXT APPLY", "HANDOFF", "MANAGERS", "SINCE", "REMEDY"}
	if !wide {
		head, lines = head[:7], append(r.remedies(), lines...)
	}
	rows := make([][]string, len(r.Risks))
	for i, risk := range r.Risks {
		for _, cell := range []string{
			risk.Object.Namespace, risk.Object.String(), string(risk.Kind), risk.Field, risk.Now, risk.NextApply, risk.Handoff,
			strings.Join(risk.Managers, ", "), risk.Since, strings.Join(risk.Remedies, "; "),
		}[:len(head)] {
			rows[i] = append(rows[i], cmp.Or(cell, "-"))
		}
	}
	return table.Write(w, head, rows, lines...)
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

// notes returns the notes as sentences, each with the names of what it is about.
func (r *Report) notes() (sentences []string) {
	names := make([]string, 0, len(r.Notes))
	for i, note := range r.Notes {
		names = append(names, note.name())
		switch {
		case note.Kind == NotAsSet:
			sentences = append(sentences, "Note: "+note.Text+".")
		case i+1 < len(r.Notes) && r.Notes[i+1].Kind == note.Kind:
			continue
		default:
			sentences = append(sentences, note.Text+": "+first(names)+".")
		}
		names = names[:0]
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
