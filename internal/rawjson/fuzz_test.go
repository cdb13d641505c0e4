package rawjson_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// FuzzCut compares Cut and Find with encoding/json: exactly the member is cut.
func FuzzCut(f *testing.F) {
	for _, seed := range []struct{ text, outer, inner string }{
		{`{"spec":{"replicas":3,"x":1}}`, "spec", "replicas"},
		{"{ \"a\" : 1 ,\n  \"b\" : {\"c\":[1,{}]}\t}\n", "b", ""},
		{`{"a\"b":{"":null,"\u00e9":"\\"}}`, `a"b`, ""},
		{`{"a":{"b":1},"b":{"a":2}}`, "b", "a"},
		{`{"r\u0065plicas":{"x":[[],{},"",-0.1e+9,true]},"":{}}`, "replicas", "x"},
		{`[{"a":1}]`, "a", ""},
		{`"a"`, "a", "a"},
	} {
		f.Add([]byte(seed.text), seed.outer, seed.inner)
	}
	f.Fuzz(func(t *testing.T, text []byte, outer, inner string) {
		if rawjson.Check(text) != nil {
			return
		}
		before := bytes.Clone(text)
		for _, names := range [][]string{{outer}, {outer, inner}} {
			cutOne(t, text, names)
		}
		if !bytes.Equal(before, text) {
			t.Errorf("the text itself was changed: %q", text)
		}
	})
}

func cutOne(t *testing.T, text []byte, names []string) {
	t.Helper()
	want := jsontest.Decode(t, text)
	value, there := take(want, names)

	got := rawjson.Cut(text, names...)
	if err := rawjson.Check(got); err != nil {
		t.Fatalf("cut %q from %q: what is left is no JSON: %v: %q", names, text, err, got)
	}
	if diff := cmp.Diff(want, jsontest.Decode(t, got)); diff != "" {
		t.Errorf("cut %q from %q (-want +got):\n%s", names, text, diff)
	}
	if !there && !bytes.Equal(text, got) {
		t.Errorf("there is no %q in %q, got %q", names, text, got)
	}
	if prefix, suffix := common(text, got); prefix+suffix < len(got) {
		t.Errorf("cut %q from %q: more than one piece was cut: %q", names, text, got)
	}

	found := rawjson.Find(text, names...).Of(text)
	if (found != nil) != there {
		t.Fatalf("find %q in %q: want %t, got %q", names, text, there, found)
	}
	if there {
		if diff := cmp.Diff(value, jsontest.Decode(t, found)); diff != "" {
			t.Errorf("find %q in %q (-want +got):\n%s", names, text, diff)
		}
	}
}

// take removes a member from decoded objects and returns it.
func take(v any, names []string) (value any, there bool) {
	for ; ; names = names[1:] {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[names[0]]; !ok {
			return nil, false
		}
		if len(names) == 1 {
			delete(object, names[0])
			return v, true
		}
	}
}

// common returns how many bytes two texts have in common at the start, and at the end of what the shorter has left.
func common(a, b []byte) (prefix, suffix int) {
	for prefix < len(a) && prefix < len(b) && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < len(a) && suffix < len(b)-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	return prefix, suffix
}
