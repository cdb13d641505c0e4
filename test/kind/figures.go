package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// figures are what was measured, in the order in which it was.
type figures struct{ rows [][]string }

func (f *figures) add(what string, values ...string) {
	f.rows = append(f.rows, append([]string{what}, values...))
	say("%s: %s", what, strings.Join(values, ", "))
}

func (f *figures) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVEN ON KIND\tFIGURES")
	for _, row := range f.rows {
		fmt.Fprintln(w, row[0]+"\t"+strings.Join(row[1:], ", "))
	}
	_ = w.Flush()
}

// tail is the end of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
