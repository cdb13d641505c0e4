package printable

import (
	"io"
	"slices"
	"unicode/utf8"
)

// Writer writes lines of text escaped by Lines. It is the last defense: callers that know what belongs to a line use Text first.
type Writer struct {
	out io.Writer
	// part is the beginning of a UTF-8 character whose remaining bytes have not been written yet.
	part []byte
}

// NewWriter returns a Writer.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

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
	if _, err := io.WriteString(w.out, Lines(string(whole[:end]))); err != nil {
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
