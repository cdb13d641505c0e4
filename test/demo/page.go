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

// The colours of a terminal.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// page is where the transcript is written.
type page struct {
	out    io.Writer
	colour bool
}

func newPage() page {
	colour := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
	return page{out: os.Stdout, colour: colour}
}

func (p page) paint(colour, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (p page) title(text string) { fmt.Fprintln(p.out, text) }

func (p page) heading(text string) {
	fmt.Fprintf(p.out, "\n%s\n", p.paint(bold, "=== "+text+" ==="))
}

func (p page) step(number int, says string) { fmt.Fprintf(p.out, "\n%d. %s\n", number, says) }

func (p page) note(text string) { fmt.Fprintf(p.out, "   %s\n", text) }

func (p page) command(line string) { fmt.Fprintf(p.out, "   %s\n", p.paint(bold, "$ "+line)) }

func (p page) output(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(p.out, "     %s\n", strings.TrimRight(line, "\n"))
	}
}

func (p page) state(s state) {
	label := func(name string) string { return p.paint(dim, name+":") }
	fmt.Fprintf(p.out, "   %s %d   %s %s   %s %s\n",
		label("replicas"), s.replicas, label("owner"), s.owner, label("last-applied"), s.lastApplied)
}

// verdict prints a tick where all facts hold, and else a cross for each that does not, which is also the error.
func (p page) verdict(facts []fact, after time.Duration) error {
	var held, missed []string
	for _, f := range facts {
		text := fmt.Sprintf("%s: expected %s, got %s", f.name, f.want, f.got)
		switch {
		case !f.holds():
			fmt.Fprintf(p.out, "   %s\n", p.paint(red, "✗ "+text))
			missed = append(missed, text)
		case f.shown:
			held = append(held, text)
		}
	}
	if missed != nil {
		return errors.New(strings.Join(missed, "; "))
	}
	text := "✓ " + strings.Join(held, "; ")
	if after > 100*time.Millisecond {
		text += fmt.Sprintf(", %.1f s later", after.Seconds())
	}
	fmt.Fprintf(p.out, "   %s\n", p.paint(green, text))
	return nil
}

// row is a row of the table at the end.
type row struct{ step, without, with string }

func (p page) table(rows []row) {
	const format = "%-40s%-20s%s\n"
	fmt.Fprintln(p.out)
	fmt.Fprint(p.out, p.paint(bold, fmt.Sprintf(format, "replicas, before -> after, when", "without handoff", "with handoff")))
	for _, r := range rows {
		without := p.paint(red, fmt.Sprintf("%-20s", r.without))
		fmt.Fprintf(p.out, "%-40s%s%s\n", r.step, without, p.paint(green, r.with))
	}
}

func (p page) conclude(steps int, took time.Duration) {
	fmt.Fprintf(p.out, "\nAll %d steps ended as told, in %.0f s.\n", steps, took.Seconds())
}
