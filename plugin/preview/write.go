package preview

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 40

// MarshalJSON implements json.Marshaler, without the contents of a Secret.
func (p Preview) MarshalJSON() ([]byte, error) {
	type data Preview
	visible := data(p)
	visible.Acts, visible.Fields = p.Acts && p.Keeps, []Field{}
	for _, f := range p.Fields {
		for _, value := range []*json.RawMessage{&f.Live, &f.Without, &f.With} {
			*value = p.Subject.Visible(f.path, *value)
		}
		visible.Fields = append(visible.Fields, f)
	}
	return json.Marshal(visible)
}

// Write writes the preview for people: a table of the fields, followed by remarks.
func (p *Preview) Write(w io.Writer) error {
	done := "unchanged"
	if p.Creates {
		done = "created"
	}
	lines := []string{p.Subject.Title() + ": " + done}
	if len(p.Fields) > 0 {
		lines = nil
		head := []string{p.Subject.Title(), "LIVE", "WITHOUT HANDOFF", "WITH HANDOFF", "WHY"}
		rows := make([][]string, len(p.Fields))
		for i := range p.Fields {
			rows[i] = p.row(&p.Fields[i])
		}
		if err := table.Write(w, head, rows); err != nil {
			return err
		}
	}
	if p.Refused != "" {
		lines = append(lines, "without handoff, "+p.Refused)
	}
	lines = append(lines, p.Warnings...)
	if p.State != "" {
		lines = append(lines, p.State)
	}
	return table.Lines(w, lines...)
}

func (p *Preview) row(f *Field) []string {
	without := p.show(f.path, f.Without)
	switch {
	case p.Refused != "":
		without = "(rejected)"
	case p.Without == nil:
		without = "(unknown)"
	}
	return []string{f.Path, p.show(f.path, f.Live), without, p.show(f.path, f.With), f.Why}
}

func (p *Preview) show(path fieldpath.Path, value []byte) string {
	if value == nil {
		return "-"
	}
	return table.Shorten(p.Subject.Show(path, value), maxValueLen)
}
