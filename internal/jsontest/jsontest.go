// Package jsontest converts and compares JSON texts for tests.
package jsontest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FromYAML returns a YAML text as JSON. The empty text is an empty object.
func FromYAML(tb testing.TB, text string) []byte {
	tb.Helper()
	if text == "" {
		text = "{}"
	}
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatalf("%v in %s", err, text)
	}
	return out
}

// Encode returns the JSON text of a value.
func Encode(tb testing.TB, value any) []byte {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// Decode decodes a JSON text. Numbers are json.Number, so that they stay as written.
func Decode(tb testing.TB, text []byte) any {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		tb.Fatalf("%v: %q", err, text)
	}
	return value
}

// Diff returns the differences between two JSON texts, in the format of cmp.Diff. It ignores the order of fields and the way
// numbers are written.
func Diff(tb testing.TB, want, got string) string {
	tb.Helper()
	var values [2]any
	for i, text := range []string{want, got} {
		if err := json.Unmarshal([]byte(text), &values[i]); err != nil {
			tb.Fatalf("%v: %s", err, text)
		}
	}
	return cmp.Diff(values[0], values[1])
}
