package preview

import (
	"io"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// Data is the machine-readable form of a preview.
type Data struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Object     explain.ObjectData `json:"object"`
	// Creates reports whether the apply creates the object.
	Creates bool `json:"creates,omitempty"`
	// Mode is the object's mode: enforce, warn, off, or unknown.
	Mode string `json:"mode"`
	// Keeps reports whether an apply with handoff differs from one without.
	Keeps bool `json:"keeps"`
	// Refused is the API server's reason for rejecting an apply without handoff.
	Refused string `json:"refused,omitempty"`
	// Acts reports whether handoff is on: whether a dry run of the apply produces the values under With. It is missing if handoff
	// keeps nothing, or if there was no dry run.
	Acts   *bool   `json:"acts,omitempty"`
	Fields []Field `json:"fields"`
	// Warnings are handoff's, about anything but these fields.
	Warnings []string `json:"warnings,omitempty"`
	// Gaps describe what is unknown; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`
}

// Data returns the preview for -o json and yaml, without the contents of a Secret.
func (p *Preview) Data() Data {
	d := Data{
		APIVersion: explain.APIVersion, Kind: "Preview", Object: explain.ObjectOf(p.Subject), Creates: !p.Subject.Object.Present(),
		Mode: string(p.Mode), Keeps: p.keeps, Refused: p.Refused, Fields: []Field{}, Gaps: p.Subject.Gaps, Warnings: p.Warnings,
	}
	if p.keeps && p.tried {
		d.Acts = &p.Acts
	}
	for _, f := range p.Fields {
		f.Live, f.Without = p.Subject.Visible(f.Path, f.Live), p.Subject.Visible(f.Path, f.Without)
		f.With = p.Subject.Visible(f.Path, f.With)
		d.Fields = append(d.Fields, f)
	}
	return d
}

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
		return table.Lines(w, p.Subject.Title()+": "+done)
	}
	head := []string{p.Subject.Title(), "LIVE", "WITHOUT HANDOFF", "WITH HANDOFF", "WHY", "OWNER", "DECISION"}
	columns := len(head)
	if !wide {
		columns -= 2
	}
	rows := make([]table.Row, len(p.Fields))
	for i := range p.Fields {
		rows[i] = p.row(&p.Fields[i], columns)
	}
	if err := style.Write(w, head[:columns], rows); err != nil {
		return err
	}
	return table.Lines(w, p.remarks()...)
}

func (p *Preview) row(f *Field, columns int) table.Row {
	show := func(value []byte) string {
		if value == nil {
			return "-"
		}
		return table.Shorten(p.Subject.Show(f.Path, value), maxValueLen)
	}
	without := show(f.Without)
	switch {
	case p.Refused != "":
		without = "(rejected)"
	case p.Without == nil:
		without = "(unknown)"
	}
	cells := []string{f.Name, show(f.Live), without, show(f.With), f.Why, table.Dash(f.Owner), table.Dash(f.Decision)}
	row := table.Row{Cells: cells[:columns], At: withAt}
	if f.Acted {
		row.Color = kept
	}
	return row
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
	enable := "to enable it: kubectl handoff enable " + p.Subject.Namespace
	switch {
	case p.unanswered != "":
		enable = "enabling it has no effect: " + p.unanswered
	case p.labeled || p.Subject.Namespace == "":
		enable = "to enable it, set the object's label " + ownership.ModeLabel + "=" + string(ownership.ModeEnforce)
	}
	isEnforced, isUnknown := p.Mode == ownership.ModeEnforce, p.Mode == installation.Unknown
	switch {
	case !p.tried && isUnknown:
		return "unknown whether handoff is enabled here; add the namespace to the live objects"
	case isEnforced && p.unanswered != "":
		return "handoff is enabled here, but WITHOUT HANDOFF applies: " + p.unanswered
	case isEnforced && !p.tried:
		return ""
	case isEnforced && p.reviewed:
		return "handoff is enabled here, but its configuration in the cluster is another" + applies + "omit --config"
	case isEnforced:
		return "handoff is enabled here, but a dry run has the result of WITHOUT HANDOFF: see kubectl handoff doctor"
	case isUnknown && p.unanswered != "":
		return "handoff does nothing here" + applies + p.unanswered
	case isUnknown && !p.reviewed:
		return "a dry run has the result of WITHOUT HANDOFF: handoff is not enabled here, or its webhook is not installed"
	case p.Mode == ownership.ModeWarn:
		return "handoff only warns here" + applies + enable
	default:
		return "handoff is off here" + applies + enable
	}
}
