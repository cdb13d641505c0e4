package explain

import (
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// Wide writes a line for each field, with its full path, the full time, and all managedFields entries that contain it.
func (e Explanation) Wide(w io.Writer, style table.Style, chosen func(ownership.Owner) bool) error {
	rows := []table.Row{}
	for i := range e.Fields {
		f := &e.Fields[i]
		if !chosen(f.Owner.Kind) {
			continue
		}
		rows = append(rows, table.Row{
			Cells: []string{
				Text(f.Path), table.Shorten(e.Subject.Show(f.Path, f.Value), maxValueLen), f.Owner.Kind.String(), table.Dash(f.Owner.By),
				table.Shorten(e.declared(f), maxValueLen), table.Dash(f.Since), table.Dash(entriesOf(f)),
			},
			Color: colorOf(f.Owner.Kind), At: ownerAt,
		})
	}
	head := []string{e.Subject.Title(), "VALUE", "OWNER", "MANAGER", "MANIFEST", "SINCE", "MANAGED BY"}
	return style.Write(w, head, rows)
}

// entriesOf returns the managedFields entries that contain a field, as MANAGER/OPERATION[/SUBRESOURCE].
func entriesOf(f *ownership.Field) string {
	texts := make([]string, len(f.Entries))
	for i, h := range f.Entries {
		texts[i] = strings.TrimSuffix(h.Manager+"/"+h.Operation+"/"+h.Subresource, "/")
	}
	return strings.Join(texts, ",")
}
