package table

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the rows as a table of Markdown.
func Markdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| measured | handoff | reference | ratio | target |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.What, r.Handoff, r.Reference, r.ratio(), strings.ToLower(r.verdict()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
