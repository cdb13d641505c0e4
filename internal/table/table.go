// Package table writes tables for terminals.
package table

import (
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ownership-handoff/handoff/internal/printable"
)

// Write writes a table, and lines below it. Characters that are not printable are escaped. The last cell of a row is not padded.
func Write(w io.Writer, head []string, rows [][]string, below ...string) error {
	widths := make([]int, len(head))
	escaped := make([][]string, 0, 1+len(rows))
	for _, row := range slices.Concat([][]string{head}, rows) {
		escaped = append(escaped, Cells(row...))
		for column, cell := range escaped[len(escaped)-1] {
			widths[column] = max(widths[column], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range escaped {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3))
			}
		}
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return Lines(w, below...)
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

// Age returns the time from an RFC 3339 timestamp to now, in kubectl's format; "-" if the timestamp is invalid.
func Age(since string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return "-"
	}
	return duration.HumanDuration(now.Sub(at))
}

// Shorten joins a text into a single line and truncates it to maxLen characters.
func Shorten(text string, maxLen int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxLen {
		return string(runes[:maxLen-1]) + "…"
	}
	return text
}
