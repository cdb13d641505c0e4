package strictjson_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/strictjson"
)

// texts are valid and invalid ones.
func texts() []string {
	return []string{
		``, ` `, `null`, ` true `, `false`, `nul`, `nulL`, `truefalse`, `0`, `-0`, `01`, `1.`, `1.5e+10`, `1e`, `-`, `.5`, `+1`, `1E5`, `- 1`,
		`""`, `"a`, `"a\"`, `"a\\"`, `"\u00e9"`, `"\u00E9"`, `"\u00g9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\u0041"`,
		"\"\xff\"", "\"\xc3\xa9\"", "\"é\"", "\"\xed\xa0\x80\"", "\"a\x00\"", "\"a\nb\"", "\"\x7f\"", `"12345678é12345678\n12345678"`, `"1234567"`,
		`[]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[[],{}]`, `[}`, `{]`, `[`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{1:1}`,
		`{"a":1,"b":2}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `{"b":1,"a":2,"b":3}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"":1,"":2}`, `{"":1}`,
		`{"\"":1,"\u0022":2}`, `{"\\":1,"\u005c":2}`, `{"\\\"":1,"\u005c\u0022":2}`, `{"\/":1,"/":2}`, `{"\\u0061":1,"a":2}`, `{"b\"":1,"a\u0022":2}`,
		`{"a":{"b":1,"a":2},"b":{"b":1}}`, `{"b":{"z":1,"a":2},"a":{"b":1},"b":1}`, `{"a":1} `, `{"a":1} x`, `{} {}`, "\ufeff{}", `{"a":[1,{"x":[]}]}`,
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	}
}

func TestTheScannerAgreesWithJSONText(t *testing.T) {
	for _, text := range texts() {
		compare(t, text)
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(compare)
}

func compare(t *testing.T, text string) {
	t.Helper()
	want := byJSONText(text)
	var s strictjson.Scanner
	s.Reset(text, []byte(text))
	got, err := s.Value()
	if err == nil {
		err = s.End()
	}
	if (err == nil) != (want == nil) {
		t.Fatalf("%q: error %v, jsontext's %v", text, err, want)
	}
	if err == nil && got != strings.Trim(text, " \t\r\n") {
		t.Fatalf("%q: the value is %q", text, got)
	}
	var c strictjson.Checker
	for range 2 { // the second time with what the first has left behind
		start := strictjson.Space([]byte(text), 0)
		end := c.Value([]byte(text), start, 0)
		whole := end >= 0 && strictjson.Space([]byte(text), end) == len(text)
		if whole != (want == nil) {
			t.Fatalf("%q: the value ends at %d, jsontext's error is %v", text, end, want)
		}
		if whole && text[start:end] != got {
			t.Fatalf("%q: the value is %q", text, text[start:end])
		}
		c.Reset()
	}
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

func TestCheckersRetainLittleOfALargeText(t *testing.T) {
	const checkers, members = 16, 20_000
	var text strings.Builder
	for i := range members {
		fmt.Fprintf(&text, `,"%d":1`, i)
	}
	large := []byte("{" + text.String()[1:] + "}")
	live := func() float64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc)
	}
	all := make([]strictjson.Checker, checkers)
	before := live()
	for i := range all {
		if end := all[i].Value(large, 0, 0); end != len(large) {
			t.Fatalf("the text ends at %d, want %d", end, len(large))
		}
		all[i].Reset()
	}
	if retained := live() - before; retained > checkers*members {
		t.Errorf("%d Checkers retain %.0f bytes of a text with %d names each", checkers, retained, members)
	}
	runtime.KeepAlive(all)
}
