// Package printable escapes text from objects and files, so that it cannot control a terminal or imitate another line of output.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text as part of one line. Characters that are not printable, including line breaks, tabs and bidirectional
// controls, are escaped as in Go strings.
func Text(text string) string { return escape(text, "", goEscape) }

// Quote returns a text as a printable JSON string.
func Quote(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	return `"` + escape(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text), "", jsonEscape) + `"`
}

// JSON returns JSON text with characters escaped that are not printable. The value stays the same.
func JSON(text string) string { return escape(text, "\n", jsonEscape) }

// Lines is like Text, but does not escape line breaks and tabs.
func Lines(text string) string { return escape(text, "\n\t", goEscape) }

// Is reports whether all characters of a text except line breaks are printable.
func Is(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) && utf8.ValidString(text)
}

// escape replaces characters that are neither printable nor in except.
func escape(text, except string, escaped func(rune) string) string {
	clean := func(r rune) bool { return strconv.IsPrint(r) && r != utf8.RuneError || strings.ContainsRune(except, r) }
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
