// Package printable writes text that comes from objects and files so that it cannot act on a terminal, and cannot pass for
// another line: what is not printable is quoted.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text as part of one line. What is not printable, which includes line breaks, tabs and what turns the
// direction of writing, is written as Go writes it in strings.
func Text(text string) string { return escape(text, "", goEscape) }

// Quote returns a text as a string of JSON that is printable.
func Quote(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	return `"` + escape(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text), "", jsonEscape) + `"`
}

// JSON returns the text of a JSON value, which it leaves the same value.
func JSON(text string) string { return escape(text, "\n", jsonEscape) }

// Lines is Text, but leaves line breaks and tabs.
func Lines(text string) string { return escape(text, "\n\t", goEscape) }

// Is reports whether a text is printable but for line breaks.
func Is(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !isPrint(r) }) && utf8.ValidString(text)
}

func isPrint(r rune) bool { return strconv.IsPrint(r) }

// escape replaces all that is neither printable nor left.
func escape(text, left string, escaped func(rune) string) string {
	clean := func(r rune) bool { return isPrint(r) && r != utf8.RuneError || strings.ContainsRune(left, r) }
	if !strings.ContainsFunc(text, func(r rune) bool { return !clean(r) }) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == utf8.RuneError, clean(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
		i += size
	}
	return b.String()
}

func goEscape(r rune) string {
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

func jsonEscape(r rune) string {
	if short, ok := map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}[r]; ok {
		return short
	}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
