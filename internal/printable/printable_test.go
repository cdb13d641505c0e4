package printable_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/printable"
)

func TestUnprintableCharactersAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain ü 漢 …":     "plain ü 漢 …",
		"a\nb\r\tc":       `a\nb\r\tc`,
		"\x1b[31mred":     `\x1b[31mred`,
		"\x07":            `\a`,
		"\u009b31m":       `\u009b31m`,
		"\u202Egpj.exe":   `\u202egpj.exe`,
		"\u00a0\u2028":    `\u00a0\u2028`,
		"\x9b31m":         `\x9b31m`,
		"\U000E0041":      `\U000e0041`,
		"\ufffd replaced": "\ufffd replaced",
		"\x7f":            `\x7f`,
	} {
		expect.Equal(t, strconv.Quote(text), want, printable.Text(text))
	}
}

// texts are what the functions are tried with, each as a part of a longer text.
func texts() []string {
	return []string{"a\nb", "\x1b[2J", "\u009b1m", "\u202e", "\a\b\f\v\r\t", "\u00a0", "\U000E0041", `\u202e "quoted" \`, "\ufffd", "", "ü", "\x7f", "\u0085\u2028"}
}

func TestJSONAndYAMLPreserveTheValue(t *testing.T) {
	for _, text := range texts() {
		value := map[string]any{"key " + text: text, "list": []any{text, map[string]any{"x": "a: " + text}}, "number": 1.5}
		encoded := jsontest.Encode(t, value)
		var raw bytes.Buffer
		encoder := json.NewEncoder(&raw)
		encoder.SetEscapeHTML(false)
		expect.NoError(t, encoder.Encode(value))
		inYAML, err := printable.YAML(string(encoded))
		expect.NoError(t, err)
		for name, output := range map[string]string{"JSON": printable.JSON(string(encoded)), "raw JSON": printable.JSON(raw.String()), "YAML": inYAML} {
			var got any
			decode := json.Unmarshal
			if name == "YAML" {
				decode = yaml.Unmarshal
			}
			if err := decode([]byte(output), &got); err != nil {
				t.Errorf("%q as %s: %v\n%s", text, name, err, output)
			}
			expect.Equal(t, strconv.Quote(text)+" as "+name, any(value), got)
			if !printable.Is(output) {
				t.Errorf("%q as %s: not printable: %q", text, name, output)
			}
		}
	}
}

func TestQuoteReturnsJSON(t *testing.T) {
	for _, text := range texts() {
		var got string
		if err := json.Unmarshal([]byte(printable.Quote(text)), &got); err != nil || got != text || !printable.Is(printable.Quote(text)) {
			t.Errorf("%q becomes %s, which is %q (%v)", text, printable.Quote(text), got, err)
		}
	}
}

func TestAWriterEscapesForeignSequences(t *testing.T) {
	const text = "\x1b[31mred\x1b[0m \x1b]0;title\a \u202e漢\n\tü\x9b\r\x1b[K"
	want := strings.NewReplacer("\u202e", `\u202e`, "\x1b", `\x1b`, "\a", `\a`, "\x9b", `\x9b`, "\r", `\r`).Replace(text)
	for _, size := range []int{1, 2, 3, len(text)} {
		var out bytes.Buffer
		w := printable.NewWriter(&out)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			_, err := w.Write([]byte(rest[:min(size, len(rest))]))
			expect.NoError(t, err)
		}
		expect.NoError(t, w.Flush())
		expect.Equal(t, "in steps of "+strconv.Itoa(size), want, out.String())
	}
}
