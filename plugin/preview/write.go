package preview

import (
	"fmt"
	"io"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 40

// withAt is the index of the WITH HANDOFF column, and kept the color of its kept values.
const (
	withAt = 3
	kept   = 35
)

// Write writes the preview for people: a table of the fields, followed by remarks. Wide adds the owner and the name of the
// decision.
func (p *Preview) Write(w io.Writer, style table.Style, wide bool) error {
	if len(p.Fields) == 0 {
		done := "unchanged"
		if !p.Subject.Object.Present() {
			done = "created"
		}
		_, err := fmt.Fprintln(w, printable.Text(p.Subject.Title()+": "+done))
		return err
	}
	head := []string{p.Subject.Title(), "LIVE", "WITHOUT HANDOFF", "WITH HANDOFF", "WHY"}
	if wide {
		head = append(head, "OWNER", "DECISION")
	}
	rows := make([]table.Row, len(p.Fields))
	for i := range p.Fields {
		rows[i] = p.row(&p.Fields[i], wide)
	}
	if err := style.Write(w, head, rows); err != nil {
		return err
	}
	for _, line := range p.remarks() {
		if _, err := fmt.Fprintln(w, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Preview) row(f *Field, wide bool) table.Row {
	without := p.show(f, f.Without)
	if p.Without == nil {
		without = "(rejected)"
	}
	r := table.Row{Cells: []string{explain.Text(f.Path), p.show(f, f.Live), without, p.show(f, f.With), f.Why}, At: withAt}
	owner, decision := "", ""
	if f.Decided != nil {
		r.Color = kept
		owner, decision = f.Decided.Owner.Kind.String(), f.Decided.Decision.Name
	}
	if wide {
		r.Cells = append(r.Cells, table.Dash(owner), table.Dash(decision))
	}
	return r
}

func (p *Preview) show(f *Field, value []byte) string {
	if value == nil {
		return "-"
	}
	return table.Shorten(p.Subject.Show(f.Path, value), maxValueLen)
}

// remarks returns what the reader has to know beyond the fields.
func (p *Preview) remarks() (lines []string) {
	if p.Refused != "" {
		lines = append(lines, "without handoff, "+p.Refused)
	}
	if !p.Keeps() {
		return lines
	}
	switch {
	case p.Mode == ownership.ModeOff:
		return append(lines, "handoff is off here, so WITHOUT HANDOFF applies; "+p.enableRemedy())
	case p.Mode == ownership.ModeWarn:
		return append(lines, "handoff only warns here, so WITHOUT HANDOFF applies; "+p.enableRemedy())
	case p.Tried && !p.Acts && p.Mode == source.UnknownMode:
		return append(lines, "a dry run has the result of WITHOUT HANDOFF: "+
			"handoff is not enabled here, or its webhook is not installed")
	case p.Mode == source.UnknownMode && !p.Tried:
		return append(lines, "unknown whether handoff is enabled here; add the namespace to the live objects")
	case p.Tried && !p.Acts:
		return append(lines, "handoff is enabled here, but a dry run has the result of WITHOUT HANDOFF; "+
			"check that the webhook is installed and running: kubectl get mutatingwebhookconfigurations")
	default:
		return lines
	}
}

func (p *Preview) enableRemedy() string {
	if p.Subject.Namespace == "" {
		return "label the object with " + ownership.ModeLabel + "=" + string(ownership.ModeEnforce)
	}
	return "to enable it: kubectl handoff enable " + p.Subject.Namespace
}
