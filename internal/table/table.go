// Package table writes lines of text in columns, for people.
package table

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ownership-handoff/handoff/internal/printable"
)

// Style is how text is written.
type Style struct {
	// Colour says that colours are shown.
	Colour bool
	// Now is what ages are counted to.
	Now time.Time
}

// Row is a line of a table. The last cell is not padded, so that its length changes no other.
type Row struct {
	Cells []string
	// Colour is the code by which a terminal colours the cell at At (ECMA-48, SGR); 0 leaves it as it is.
	Colour, At int
}

// Write writes a table. What is not printable in a cell is quoted.
func (s Style) Write(w io.Writer, head []string, rows []Row) error {
	head = Cells(head...)
	for i := range rows {
		rows[i].Cells = Cells(rows[i].Cells...)
	}
	widths := make([]int, len(head))
	for _, r := range append([]Row{{Cells: head}}, rows...) {
		for i, cell := range r.Cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range append([]Row{{Cells: head}}, rows...) {
		for i, cell := range r.Cells {
			padding := ""
			if i < len(r.Cells)-1 {
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3)
			}
			if i == r.At {
				cell = s.Paint(cell, r.Colour)
			}
			b.WriteString(cell + padding)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Cells returns texts as cells of a table: printable, and part of one line.
func Cells(texts ...string) []string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		cells[i] = printable.Text(text)
	}
	return cells
}

// Paint colours a text where colours are shown.
func (s Style) Paint(text string, colour int) string {
	if !s.Colour || colour == 0 || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, text)
}

// Age is how long ago a time of RFC 3339 was, as kubectl writes it; "-" for what is none.
func (s Style) Age(since string) string {
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return Dash("")
	}
	return duration.HumanDuration(s.Now.Sub(at))
}

// Dash returns a text, or "-" for none.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Shorten cuts a text to so many characters, and makes a single line of it.
func Shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
