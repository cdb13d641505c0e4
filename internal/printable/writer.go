package printable

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Writer writes lines of text escaped by Lines. It is the last defense: callers that know what belongs to a line use Text first.
type Writer struct {
	out io.Writer
	own *regexp.Regexp
	// part is the beginning of a UTF-8 character whose remaining bytes have not been written yet.
	part []byte
}

// Escape sequences that the program writes itself.
const (
	// Color matches the sequences that table.Style.Paint writes.
	Color = `\x1b\[[0-9]{1,2}m`
	// Progress matches the sequence that erases a progress line.
	Progress = `\r\x1b\[K`
)

// NewWriter returns a Writer that does not escape sequences that match the regular expressions own.
func NewWriter(out io.Writer, own ...string) *Writer {
	w := &Writer{out: out}
	if len(own) > 0 {
		w.own = regexp.MustCompile(strings.Join(own, "|"))
	}
	return w
}

// Write implements io.Writer.
func (w *Writer) Write(text []byte) (int, error) {
	whole := slices.Concat(w.part, text)
	end := len(whole)
	for n := 1; n < utf8.UTFMax && n <= len(whole); n++ { // an incomplete character
		if tail := whole[len(whole)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				end = len(whole) - n
			}
			break
		}
	}
	w.part = slices.Clone(whole[end:])
	if _, err := io.WriteString(w.out, w.clean(string(whole[:end]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes the bytes of an incomplete character.
func (w *Writer) Flush() error {
	part := string(w.part)
	w.part = nil
	_, err := io.WriteString(w.out, Lines(part))
	return err
}

func (w *Writer) clean(text string) string {
	if w.own == nil {
		return Lines(text)
	}
	var b strings.Builder
	at := 0
	for _, found := range w.own.FindAllStringIndex(text, -1) {
		b.WriteString(Lines(text[at:found[0]]))
		b.WriteString(text[found[0]:found[1]])
		at = found[1]
	}
	b.WriteString(Lines(text[at:]))
	return b.String()
}
