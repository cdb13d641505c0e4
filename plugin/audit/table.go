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
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Table writes the report for people: a line for each risk, remedies, and a summary. The wide table has the managers, time and
// remedies of each risk.
func (r *Report) Table(w io.Writer, wide bool) error {
	if len(r.Risks) > 0 {
		if err := r.risks(w, wide); err != nil {
			return err
		}
		if !wide {
			r.remedies(w)
		}
		_, _ = fmt.Fprintln(w) // the write below returns the error
	}
	_, err := io.WriteString(w, r.summary())
	return err
}

func (r *Report) risks(w io.Writer, wide bool) error {
	head := []string{"NAMESPACE", "OBJECT", "RISK", "FIELD", "NOW", "NEXT APPLY", "HANDOFF"}
	if wide {
		head = append(head, "MANAGERS", "SINCE", "REMEDY")
	}
	rows := make([]table.Row, 0, len(r.Risks))
	for _, risk := range r.Risks {
		cells := []string{
			risk.Object.Namespace, risk.name, string(risk.Kind), risk.Field, risk.Now, risk.NextApply, risk.Handoff,
		}
		if wide {
			cells = append(cells, strings.Join(risk.Managers, ", "), risk.Since, strings.Join(risk.Remedies, "; "))
		}
		for i, cell := range cells {
			cells[i] = table.Dash(cell)
		}
		rows = append(rows, table.Row{Cells: cells})
	}
	return table.Style{}.Write(w, head, rows)
}

// remedies writes the remedies for the first risk of each kind.
func (r *Report) remedies(w io.Writer) {
	written := map[Kind]bool{}
	_, _ = fmt.Fprintln(w, "\nRemedies for the first risk of each kind (-o wide shows all):")
	for _, risk := range r.Risks {
		if written[risk.Kind] {
			continue
		}
		written[risk.Kind] = true
		_, _ = fmt.Fprintf(w, "  %s\n", risk.Kind)
		for _, remedy := range risk.Remedies {
			_, _ = fmt.Fprintf(w, "    %s\n", printable.Text(remedy))
		}
	}
}

// summary returns the number of risks, and the audited objects and namespaces.
func (r *Report) summary() string {
	var b strings.Builder
	found := "No risks"
	switch {
	case len(r.Risks) > 0:
		found = counted(len(r.Risks), "risk", "risks")
	case r.Objects == 0:
		found = "Nothing to audit"
	}
	fmt.Fprintf(&b, "%s in %s", found, counted(r.Objects, "object", "objects"))
	if len(r.Resources) > 2*maxNames {
		fmt.Fprintf(&b, " of %d types", len(r.Resources))
	} else if len(r.Resources) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(r.Resources, ", "))
	}
	var modes []string
	for _, mode := range []ownership.Mode{ownership.ModeEnforce, ownership.ModeWarn, ownership.ModeOff, source.UnknownMode} {
		if names := r.Namespaces[mode]; len(names) > 0 {
			text := fmt.Sprintf("%s %d", mode, len(names))
			if len(names) <= maxNames {
				text += " (" + strings.Join(names, ", ") + ")"
			}
			modes = append(modes, text)
		}
	}
	if modes != nil {
		fmt.Fprintf(&b, ". Namespaces by mode: %s", strings.Join(modes, ", "))
	}
	b.WriteByte('.')
	sentences := []string{b.String()}
	if len(r.Unrecorded) > 0 {
		sentences = append(sentences, fmt.Sprintf("Not recorded: whether the manifest sets the replicas of %s. "+
			"An autoscaler has taken over the field in managedFields from Helm or server-side apply; check the manifest.",
			namesOf(r.Unrecorded)))
	}
	if len(r.ToOne) > 0 {
		sentences = append(sentences, fmt.Sprintf("Not recorded: whether a Helm 3 chart drops replicas, or a server-side apply sets them to "+
			"null. If so, these scale to 1: %s.", namesOf(r.ToOne)))
	}
	if len(r.Undone) > 0 {
		sentences = append(sentences, fmt.Sprintf("Annotation %s of the manifest is missing, as after kubectl rollout undo; apply again: %s.",
			ownership.ControllerFieldsAnnotation, namesOf(r.Undone)))
	}
	for _, note := range r.Notes {
		sentences = append(sentences, "Note: "+note+".")
	}
	if note := source.AnnotatedNote(r.Annotated); note != "" {
		sentences = append(sentences, "Note: "+note+".")
	}
	return strings.Join(table.Cells(sentences...), "\n") + "\n"
}

// maxNames limits the names that a sentence lists.
const maxNames = 5

func namesOf(objects []explain.ObjectData) string {
	names := make([]string, 0, maxNames)
	for _, o := range objects[:min(len(objects), maxNames)] {
		gv, _ := schema.ParseGroupVersion(o.APIVersion)
		kind := strings.ToLower(gv.WithKind(o.Kind).GroupKind().String())
		names = append(names, fmt.Sprintf("%s/%s -n %s", kind, o.Name, o.Namespace))
	}
	return printable.Names(names, len(objects))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
