package explanation

import (
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
)

// Wide writes a line for each field, with its whole path, the time in full and everybody who claims it.
func (e Explanation) Wide(w io.Writer, style Style, chosen func(ownership.Owner) bool) error {
	rows := []row{}
	for i := range e.Fields {
		f := &e.Fields[i]
		if !chosen(f.Owner) {
			continue
		}
		rows = append(rows, row{
			cells: []string{
				Text(f.Path), shorten(e.show(f.Path, f.Value), mostValue), f.Owner.String(), dash(f.By),
				shorten(e.declared(f), mostValue), dash(f.Since), dash(claims(f)),
			},
			owner: f.Owner,
		})
	}
	head := []string{e.Title(), "VALUE", "OWNER", "MANAGER", "MANIFEST", "SINCE", "CLAIMS"}
	return style.write(w, head, rows)
}

// claims are the field's claims, as MANAGER/OPERATION or MANAGER/OPERATION/SUBRESOURCE.
func claims(f *ownership.Field) string {
	texts := make([]string, len(f.Holders))
	for i, h := range f.Holders {
		texts[i] = strings.TrimSuffix(h.Manager+"/"+h.Operation+"/"+h.Subresource, "/")
	}
	return strings.Join(texts, ",")
}
