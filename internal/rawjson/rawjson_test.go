package rawjson_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

func TestCutTakesOneMemberAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		path []string
		want string
	}{
		"the first of several goes with the comma behind it": {`{"spec":{"replicas":3,"x":1}}`, []string{"spec", "replicas"}, `{"spec":{"x":1}}`},
		"the last of several goes with the comma before it":  {`{"spec":{"x":1,"replicas":3}}`, []string{"spec", "replicas"}, `{"spec":{"x":1}}`},
		"one in the middle leaves its neighbors apart":       {`{"a":1,"b":2,"c":3}`, []string{"b"}, `{"a":1,"c":3}`},
		"the only member leaves an empty object":             {`{"spec":{"replicas":3}}`, []string{"spec", "replicas"}, `{"spec":{}}`},
		"white space elsewhere stays":                        {"{ \"a\" : 1 ,\n  \"b\" : 2 }\n", []string{"a"}, "{ \"b\" : 2 }\n"},
		"the comma of the last one goes, not what is before": {"{ \"a\" : 1 ,\n  \"b\" : 2\n}\n", []string{"b"}, "{ \"a\" : 1 \n}\n"},
		"an escaped name is the same name":                   {`{"x":1,"r\u0065plicas":3}`, []string{"replicas"}, `{"x":1}`},
		"a name that holds a quote is cut whole":             {`{"x":1,"a\"b":3,"y":2}`, []string{`a"b`}, `{"x":1,"y":2}`},
		"a missing member changes nothing":                   {`{"spec":{"x":1}}`, []string{"spec", "replicas"}, `{"spec":{"x":1}}`},
		"a path through a string changes nothing":            {`{"spec":"replicas"}`, []string{"spec", "replicas"}, `{"spec":"replicas"}`},
		"the same name at another depth stays":               {`{"replicas":1,"spec":{"a":{"replicas":2},"replicas":3}}`, []string{"spec", "replicas"}, `{"replicas":1,"spec":{"a":{"replicas":2}}}`},
		"no path changes nothing":                            {`{"a":1}`, nil, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(rawjson.Cut([]byte(c.text), c.path...))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
			if err := rawjson.Check([]byte(got)); err != nil {
				t.Errorf("what is left is no JSON: %v", err)
			}
		})
	}
}

func TestFindSaysWhereAValueStands(t *testing.T) {
	text := []byte(`{"a":{"b":[1,2],"n":null},"s":"x"}`)
	for name, c := range map[string]struct {
		path []string
		want string
	}{
		"a nested array":         {[]string{"a", "b"}, "[1,2]"},
		"a null is a value":      {[]string{"a", "n"}, "null"},
		"a string with quotes":   {[]string{"s"}, `"x"`},
		"nothing behind a leaf":  {[]string{"s", "t"}, ""},
		"nothing under the name": {[]string{"z"}, ""},
		"the whole without path": {nil, string(text)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(rawjson.Find(text, c.path...).Of(text))); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckRefusesWhatIsNotOneJSONValue(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":            "",
		"half an object":     `{"a":`,
		"duplicate names":    `{"a":1,"a":2}`,
		"invalid UTF-8":      "{\"a\":\"\xff\"}",
		"two values":         `{} {}`,
		"rubbish behind":     `{} x`,
		"very deep nesting":  strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"other white space":  "{}\v",
		"a space of Unicode": "{}\u00a0",
		"a single quote":     `{'a':1}`,
		"a bare closing one": `]`,
	} {
		t.Run(name, func(t *testing.T) {
			if rawjson.Check([]byte(text)) == nil {
				t.Errorf("no error for %.40q", text)
			}
		})
	}
}

func TestErrorsDoNotQuoteTheText(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a repeated name":   {`{"secret":1,"secret":2}`, "reading a value: duplicate object member name, after byte 12"},
		"a wrong literal":   {`{"secret":{"a":tru}}`, "reading a value: invalid character, after byte 18"},
		"half a character":  {`{"a":"\ud800secret"}`, "reading a value: invalid surrogate pair, after byte 6"},
		"a wrong escape":    {`{"a":"secret\x"}`, "reading a value: invalid escape sequence, after byte 12"},
		"deep nesting":      {strings.Repeat(`{"secret":`, 20_000), "reading a value: exceeded max depth, after byte 100000"},
		"an early end":      {`{"secret":"`, "reading a value: unexpected EOF, after byte 11"},
		"nothing":           {"", "reading a value: EOF"},
		"more than a value": {`{} secret`, "there is more after the value, at byte 2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := rawjson.Check([]byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWalkerReadsEachTextWhateverItReadBefore(t *testing.T) {
	var w rawjson.Walker
	for range 3 {
		for text, wantError := range map[string]bool{
			`{"a":{"b":1},"c":[1,2]}`: false,
			`{"a":{"b":`:              true,
			`{"a":1,"a":2}`:           true,
			`[[[[{"a":1}]]]]`:         false,
			`{"c":"x"} "more"`:        true,
		} {
			w.Reset([]byte(text), 0)
			_, err := w.Value()
			if err == nil {
				err = w.End()
			}
			if got := err != nil; got != wantError {
				t.Errorf("%s: want an error: %t, got %v", text, wantError, err)
			}
		}
	}
}
