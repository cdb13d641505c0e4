package audit

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Table writes the report for people: a line for each risk, remedies, and a summary. The wide table has the managers, time and
// remedies of each risk.
func (r *Report) Table(w io.Writer, wide bool) error {
	if len(r.Risks) > 0 {
		head := []string{"NAMESPACE", "OBJECT", "RISK", "FIELD", "NOW", "NEXT APPLY", "HANDOFF", "MANAGERS", "SINCE", "REMEDY"}
		if !wide {
			head = head[:7]
		}
		rows := make([]table.Row, len(r.Risks))
		for i, risk := range r.Risks {
			cells := []string{
				risk.Object.Namespace, risk.name, string(risk.Kind), risk.Field, risk.Now, risk.NextApply, risk.Handoff,
				strings.Join(risk.Managers, ", "), risk.Since, strings.Join(risk.Remedies, "; "),
			}
			for _, cell := range cells[:len(head)] {
				rows[i].Cells = append(rows[i].Cells, table.Dash(cell))
			}
		}
		if err := (table.Style{}).Write(w, head, rows); err != nil {
			return err
		}
	}
	var b strings.Builder
	if len(r.Risks) > 0 && !wide {
		r.remedies(&b)
	}
	if len(r.Risks) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(strings.Join(table.Cells(append([]string{r.summary()}, r.notes()...)...), "\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// remedies writes the remedies for the first risk of each kind.
func (r *Report) remedies(b *strings.Builder) {
	written := map[Kind]bool{}
	b.WriteString("\nRemedies for the first risk of each kind (-o wide shows all):\n")
	for _, risk := range r.Risks {
		if written[risk.Kind] {
			continue
		}
		written[risk.Kind] = true
		fmt.Fprintf(b, "  %s\n", risk.Kind)
		for _, remedy := range risk.Remedies {
			fmt.Fprintf(b, "    %s\n", printable.Text(remedy))
		}
	}
}

// maxNames limits the names that a sentence lists.
const maxNames = 5

// summary returns the number of risks, and the audited objects and namespaces.
func (r *Report) summary() string {
	text := "No risks"
	switch {
	case len(r.Risks) > 0:
		text = counted(len(r.Risks), "risk")
	case r.Objects == 0:
		text = "Nothing to audit"
	}
	text += " in " + counted(r.Objects, "object")
	if len(r.Resources) > 2*maxNames {
		text += fmt.Sprintf(" of %d types", len(r.Resources))
	} else if len(r.Resources) > 0 {
		text += " (" + strings.Join(r.Resources, ", ") + ")"
	}
	var modes []string
	for _, mode := range []ownership.Mode{ownership.ModeEnforce, ownership.ModeWarn, ownership.ModeOff, installation.Unknown} {
		names := r.Namespaces[mode]
		switch {
		case len(names) > maxNames:
			modes = append(modes, fmt.Sprintf("%s %d", mode, len(names)))
		case len(names) > 0:
			modes = append(modes, fmt.Sprintf("%s %d (%s)", mode, len(names), strings.Join(names, ", ")))
		}
	}
	if modes != nil {
		text += ". Namespaces by mode: " + strings.Join(modes, ", ")
	}
	return text + "."
}

// notes returns what is no risk, and worth knowing.
func (r *Report) notes() (sentences []string) {
	for _, note := range []struct {
		format  string
		objects []explain.ObjectData
	}{
		{"Not recorded: whether the manifest sets the replicas of %s. An autoscaler has taken over the field in managedFields from Helm " +
			"or server-side apply; check the manifest.", r.Unrecorded},
		{"Not recorded: whether a Helm 3 chart drops replicas, or a server-side apply sets them to null. If so, these scale to 1: %s.",
			r.ToOne},
		{"Annotation " + ownership.ControllerFieldsAnnotation + " of the manifest is missing, as after kubectl rollout undo; " +
			"apply again: %s.", r.Undone},
	} {
		if len(note.objects) > 0 {
			sentences = append(sentences, fmt.Sprintf(note.format, namesOf(note.objects)))
		}
	}
	for _, note := range append(r.Notes, source.AnnotatedNote(r.Annotated), changedNote(r.Changed)) {
		if note != "" {
			sentences = append(sentences, "Note: "+note+".")
		}
	}
	return sentences
}

func namesOf(objects []explain.ObjectData) string {
	names := make([]string, 0, maxNames)
	for _, o := range objects[:min(len(objects), maxNames)] {
		kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
		names = append(names, fmt.Sprintf("%s/%s -n %s", strings.ToLower(kind.String()), o.Name, o.Namespace))
	}
	return printable.Names(names, len(objects))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
