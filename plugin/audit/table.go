package audit

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/ownership-handoff/handoff/internal/printable"
	tables "github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Table writes the report for a person: a line for each risk, what to do, and what was looked at. A wide one has who is
// involved, since when, and what to do for each risk.
func (r *Report) Table(w io.Writer, wide bool) error {
	if len(r.Risks) > 0 {
		if err := r.risks(w, wide); err != nil {
			return err
		}
		if !wide {
			r.remedies(w)
		}
		_, _ = fmt.Fprintln(w) // the line below tells
	}
	_, err := io.WriteString(w, r.summary())
	return err
}

func (r *Report) risks(w io.Writer, wide bool) error {
	table := printers.GetNewTabWriter(w)
	line := func(cells ...string) {
		cells = tables.Cells(cells...)
		for i, cell := range cells {
			cells[i] = cmp.Or(cell, "-")
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) // Flush tells
	}
	head := []string{"NAMESPACE", "OBJECT", "RISK", "FIELD", "NOW", "NEXT APPLY", "HANDOFF"}
	if wide {
		head = append(head, "MANAGERS", "SINCE", "REMEDY")
	}
	line(head...)
	for _, risk := range r.Risks {
		cells := []string{
			risk.Object.Namespace, risk.name, string(risk.Kind), risk.Field, risk.Now, risk.NextApply, risk.Handoff,
		}
		if wide {
			cells = append(cells, strings.Join(risk.Managers, ", "), risk.Since, strings.Join(risk.Remedies, "; "))
		}
		line(cells...)
	}
	return table.Flush()
}

// remedies says for the first risk of each kind what to do.
func (r *Report) remedies(w io.Writer) {
	told := map[Kind]bool{}
	_, _ = fmt.Fprintln(w, "\nWhat to do, for the first of each (-o wide: for all):")
	for _, risk := range r.Risks {
		if told[risk.Kind] {
			continue
		}
		told[risk.Kind] = true
		_, _ = fmt.Fprintf(w, "  %s\n", risk.Kind)
		for _, remedy := range risk.Remedies {
			_, _ = fmt.Fprintf(w, "    %s\n", printable.Text(remedy))
		}
	}
}

// summary is what was found and what was looked at.
func (r *Report) summary() string {
	var b strings.Builder
	found := "No risks"
	switch {
	case len(r.Risks) > 0:
		found = counted(len(r.Risks), "risk", "risks")
	case r.Objects == 0:
		found = "Nothing to look at"
	}
	fmt.Fprintf(&b, "%s in %s", found, counted(r.Objects, "object", "objects"))
	if len(r.Kinds) > 2*mostNames {
		fmt.Fprintf(&b, " of %d types", len(r.Kinds))
	} else if len(r.Kinds) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(r.Kinds, ", "))
	}
	var modes []string
	for _, mode := range []ownership.Mode{ownership.ModeEnforce, ownership.ModeWarn, ownership.ModeOff, source.UnknownMode} {
		if names := r.Namespaces[mode]; len(names) > 0 {
			text := fmt.Sprintf("%s %d", mode, len(names))
			if len(names) <= mostNames {
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
		them := "it"
		if len(r.Unrecorded) > 1 {
			them = "them"
		}
		sentences = append(sentences, fmt.Sprintf("Not recorded: whether the manifest sets the size of %s. "+
			"An autoscaler has sized %s, and has taken the claim "+
			"that helm or server-side apply had; look into the manifest.", r.unrecorded(), them))
	}
	return strings.Join(tables.Cells(sentences...), "\n") + "\n"
}

// mostNames is how many names a sentence lists.
const mostNames = 5

func (r *Report) unrecorded() string {
	names := make([]string, 0, mostNames)
	for _, o := range r.Unrecorded[:min(len(r.Unrecorded), mostNames)] {
		gv, _ := schema.ParseGroupVersion(o.APIVersion)
		kind := strings.ToLower(gv.WithKind(o.Kind).GroupKind().String())
		names = append(names, fmt.Sprintf("%s/%s -n %s", kind, o.Name, o.Namespace))
	}
	if more := len(r.Unrecorded) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
