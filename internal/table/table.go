// Package table writes tables for terminals.
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

// Style configures how tables are written.
type Style struct {
	// Color enables colors.
	Color bool
	// Now is the time relative to which ages are computed.
	Now time.Time
}

// Row is a line of a table. The last cell is not padded.
type Row struct {
	Cells []string
	// Color is the SGR code (ECMA-48) of the cell with index At; 0 means no color.
	Color, At int
}

// Write writes a table. Characters that are not printable are escaped.
func (s Style) Write(w io.Writer, head []string, rows []Row) error {
	widths := make([]int, len(head))
	rows = append([]Row{{Cells: head}}, rows...)
	for i := range rows {
		rows[i].Cells = Cells(rows[i].Cells...)
		for column, cell := range rows[i].Cells {
			widths[column] = max(widths[column], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		for i, cell := range r.Cells {
			padding := ""
			if i < len(r.Cells)-1 {
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3)
			}
			if i == r.At {
				cell = s.Paint(cell, r.Color)
			}
			b.WriteString(cell + padding)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Lines writes lines. Characters that are not printable are escaped.
func Lines(w io.Writer, lines ...string) error {
	for _, line := range Cells(lines...) {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// Cells returns texts as cells, with characters escaped that are not printable.
func Cells(texts ...string) []string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		cells[i] = printable.Text(text)
	}
	return cells
}

// Paint returns a text in a color if colors are enabled.
func (s Style) Paint(text string, color int) string {
	if !s.Color || color == 0 || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, text)
}

// Age returns the time since an RFC 3339 timestamp, in kubectl's format; "-" if the timestamp is invalid.
func (s Style) Age(since string) string {
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return Dash("")
	}
	return duration.HumanDuration(s.Now.Sub(at))
}

// Dash returns a text, or "-" if it is empty.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Shorten joins a text into a single line and truncates it to maxLen characters.
func Shorten(text string, maxLen int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxLen {
		return string(runes[:maxLen-1]) + "…"
	}
	return text
}
