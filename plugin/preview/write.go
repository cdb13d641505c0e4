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
	switch {
	case p.Refused != "":
		without = "(rejected)"
	case p.Without == nil:
		without = "(unknown)"
	}
	r := table.Row{Cells: []string{explain.Text(f.Path), p.show(f, f.Live), without, p.show(f, f.With), f.Why}, At: withAt}
	owner, decision := "", ""
	if f.Acted {
		r.Color = kept
	}
	if f.Decided != nil {
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
	lines = append(lines, p.Warnings...)
	if state := p.state(); p.keeps && !p.Acts && state != "" {
		lines = append(lines, state)
	}
	return lines
}

// state returns why handoff does not do what it would, and how to enable it.
func (p *Preview) state() string {
	const applies = ", so WITHOUT HANDOFF applies; "
	silent := "its webhook does not answer for this object: see kubectl handoff doctor"
	enable := "to enable it: kubectl handoff enable " + p.Subject.Namespace
	if p.labeled {
		enable = "to enable it, set the object's label " + ownership.ModeLabel + "=" + string(ownership.ModeEnforce)
	}
	if p.Subject.Namespace != "" {
		silent += " -n " + p.Subject.Namespace
	}
	switch {
	case !p.tried && p.Mode == source.UnknownMode:
		return "unknown whether handoff is enabled here; add the namespace to the live objects"
	case !p.tried && p.Mode == ownership.ModeEnforce:
		return ""
	case p.Mode == ownership.ModeEnforce && p.reviewed == isReviewed:
		return "handoff is enabled here, but its configuration in the cluster is another" + applies + "omit --config"
	case p.Mode == ownership.ModeEnforce && p.reviewed == isNotReviewed:
		return "handoff is enabled here, but WITHOUT HANDOFF applies: " + silent
	case p.Mode == ownership.ModeEnforce:
		return "handoff is enabled here, but a dry run has the result of WITHOUT HANDOFF: see kubectl handoff doctor"
	case p.Mode == source.UnknownMode && p.reviewed == isNotReviewed:
		return "handoff does nothing here" + applies + silent
	case p.Mode == source.UnknownMode && p.reviewed == notKnown:
		return "a dry run has the result of WITHOUT HANDOFF: handoff is not enabled here, or its webhook is not installed"
	}
	is := "is off"
	if p.Mode == ownership.ModeWarn {
		is = "only warns"
	}
	if p.reviewed == isNotReviewed {
		enable = "enabling it has no effect: " + silent
	}
	return "handoff " + is + " here" + applies + enable
}
