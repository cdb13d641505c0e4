package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// The terminal's escape codes for colors.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// page writes the transcript.
type page struct {
	out   io.Writer
	color bool
}

func newPage() page {
	color := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
	return page{out: os.Stdout, color: color}
}

func (p page) paint(color, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (p page) heading(text string) {
	fmt.Fprintf(p.out, "\n%s\n", p.paint(bold, "=== "+text+" ==="))
}

// command prints a command with its output.
func (p page) command(line, output string) {
	fmt.Fprintf(p.out, "   %s\n", p.paint(bold, "$ "+line))
	for line := range strings.Lines(output) {
		fmt.Fprintf(p.out, "     %s\n", strings.TrimRight(line, "\n"))
	}
}

// verdict prints the state, and a tick if all facts are as expected. Otherwise, it prints a cross for each that is not, and returns
// these as an error.
func (p page) verdict(s state, facts []fact, after time.Duration) error {
	label := func(name string) string { return p.paint(dim, name+":") }
	fmt.Fprintf(p.out, "   %s %d   %s %s   %s %s\n",
		label("replicas"), s.replicas, label("owner"), s.owner, label("last-applied"), s.lastApplied)
	var met, missed []string
	for _, f := range facts {
		text := fmt.Sprintf("%s: expected %s, got %s", f.name, f.want, f.got)
		switch {
		case f.want != f.got:
			fmt.Fprintf(p.out, "   %s\n", p.paint(red, "✗ "+text))
			missed = append(missed, text)
		case f.shown:
			met = append(met, text)
		}
	}
	if missed != nil {
		return errors.New(strings.Join(missed, "; "))
	}
	text := "✓ " + strings.Join(met, "; ")
	if after > 100*time.Millisecond {
		text += fmt.Sprintf(", after %.1f s", after.Seconds())
	}
	fmt.Fprintf(p.out, "   %s\n", p.paint(green, text))
	return nil
}

// row is a row of the table at the end.
type row struct{ step, without, with string }

func (p page) table(rows []row) {
	const format = "%-40s%-20s%s\n"
	fmt.Fprintln(p.out)
	fmt.Fprint(p.out, p.paint(bold, fmt.Sprintf(format, "replicas before -> after", "without handoff", "with handoff")))
	for _, r := range rows {
		without := p.paint(red, fmt.Sprintf("%-20s", r.without))
		fmt.Fprintf(p.out, "%-40s%s%s\n", r.step, without, p.paint(green, r.with))
	}
}
