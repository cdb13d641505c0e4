package jsonnode_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsonnode"
)

// FuzzRead checks that Read accepts exactly the texts that the strict decoder accepts as one value, and writes them as they are.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		``, ` `, ` true `, `nulL`, `truefalse`, `-0`, `01`, `1.5e+10`, `"a`, `"a\\"`, `"\u00E9"`, `"\ud83d"`, "\"\xff\"", "\"a\x00\"", `[]`, `[1,]`,
		`[[],{}]`, `[}`, `{]`, `{"a":1,}`, `{"a" 1}`, `{"b":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`, `{"a":{"b":1,"a":2},"b":{"b":1}}`,
		`{ "n" : 12345678901234567890.10, "e":1E+2, "s":"\u00e9" }`, `{"a":1} `, `{"a":1} x`, `{} {}`, "\ufeff{}", `{"a":[1,{"x":[]}]}`,
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := byJSONText(text)
		n, err := jsonnode.Read("live", []byte(text))
		if (err == nil) != (want == nil) {
			t.Fatalf("%q: error %v, jsontext's %v", text, err, want)
		}
		if err != nil {
			return
		}
		if got := string(n.AppendText(nil)); got != strings.Trim(text, " \t\r\n") {
			t.Fatalf("%q is written as %q", text, got)
		}
	})
}

func byJSONText(text string) error {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	if _, err := dec.ReadValue(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("more follows")
	}
	return nil
}

func TestErrorsHaveTheReasonAndThePosition(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"b":1,"b":2}}`: `duplicate object member name "b" within "/a"`,
		"{\"a\":\"\xff\"}":    "invalid UTF-8 within \"/a\" after offset 6",
		`{"a":tru}`:           `within "/a" after offset 8`,
		`{} {}`:               "more follows the value at byte 3",
		`{"a":`:               "unexpected EOF",
		"":                    "unexpected EOF",
	} {
		_, err := jsonnode.Read("live", []byte(text))
		expect.Error(t, strconv.Quote(text), want, err)
	}
}
