package preview

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 40

// MarshalJSON implements json.Marshaler, without the contents of a Secret.
func (p Preview) MarshalJSON() ([]byte, error) {
	type data Preview
	visible := data(p)
	visible.Fields = slices.Clone(p.Fields)
	for i := range visible.Fields {
		f := &visible.Fields[i]
		for _, value := range []*json.RawMessage{&f.Live, &f.Without, &f.With} {
			*value = p.subject.Visible(f.path, *value)
		}
	}
	return json.Marshal(visible)
}

// Write writes the preview for people: a table of the fields, followed by remarks.
func (p *Preview) Write(w io.Writer) error {
	var lines []string
	without := map[bool]string{true: "(unknown)"}[p.isUnknown] // instead of the values
	if p.Refused != "" {
		without, lines = "(rejected)", append(lines, "without handoff, "+p.Refused)
	}
	lines = append(lines, p.Warnings...)
	if p.State != "" {
		lines = append(lines, p.State)
	}
	if len(p.Fields) == 0 {
		done := map[bool]string{true: "created", false: "unchanged"}[p.Creates]
		return table.Lines(w, append([]string{p.subject.Title() + ": " + done}, lines...)...)
	}
	rows := make([][]string, len(p.Fields))
	for i, f := range p.Fields {
		rows[i] = []string{f.Path, p.show(f.path, f.Live), cmp.Or(without, p.show(f.path, f.Without)), p.show(f.path, f.With), f.Why}
	}
	return table.Write(w, []string{p.subject.Title(), "LIVE", "WITHOUT HANDOFF", "WITH HANDOFF", "WHY"}, rows, lines...)
}

func (p *Preview) show(path fieldpath.Path, value []byte) string {
	if value == nil {
		return "-"
	}
	return table.Shorten(p.subject.Show(path, value), maxValueLen)
}
