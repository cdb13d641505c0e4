package explain

import (
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// Wide writes a line for each field, with its whole path, the time in full and everybody who claims it.
func (e Explanation) Wide(w io.Writer, style table.Style, chosen func(ownership.Owner) bool) error {
	rows := []table.Row{}
	for i := range e.Fields {
		f := &e.Fields[i]
		if !chosen(f.Owner) {
			continue
		}
		rows = append(rows, table.Row{
			Cells: []string{
				Text(f.Path), table.Shorten(e.Show(f.Path, f.Value), mostValue), f.Owner.String(), table.Dash(f.By),
				table.Shorten(e.declared(f), mostValue), table.Dash(f.Since), table.Dash(claims(f)),
			},
			Colour: colourOf(f.Owner), At: ownerAt,
		})
	}
	head := []string{e.Title(), "VALUE", "OWNER", "MANAGER", "MANIFEST", "SINCE", "CLAIMS"}
	return style.Write(w, head, rows)
}

// claims are the field's claims, as MANAGER/OPERATION or MANAGER/OPERATION/SUBRESOURCE.
func claims(f *ownership.Field) string {
	texts := make([]string, len(f.Holders))
	for i, h := range f.Holders {
		texts[i] = strings.TrimSuffix(h.Manager+"/"+h.Operation+"/"+h.Subresource, "/")
	}
	return strings.Join(texts, ",")
}
