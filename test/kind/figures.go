package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// figures are the results, in the order of the steps.
type figures struct{ rows [][]string }

func (f *figures) add(what string, values ...string) {
	f.rows = append(f.rows, append([]string{what}, values...))
	report("%s: %s", what, strings.Join(values, ", "))
}

func (f *figures) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERIFIED ON KIND\tRESULT")
	for _, row := range f.rows {
		fmt.Fprintln(w, row[0]+"\t"+strings.Join(row[1:], ", "))
	}
	_ = w.Flush()
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
