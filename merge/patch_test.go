package merge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
)

func TestEncodePatchEqualsMarshaledOperations(t *testing.T) {
	operations := []jsonpatch.Operation{
		jsonpatch.NewOperation("add", "/spec/replicas", json.RawMessage("7")),
		jsonpatch.NewOperation("add", "/spec/a~1b~0c", json.RawMessage(` { "a" : [ null , "\u00e9<" ] } `)),
		jsonpatch.NewOperation("replace", "/metadata/annotations/x~1y", "a \"quoted\"\n text with \u2028, <&> and é"),
	}
	for sentence, some := range map[string][]jsonpatch.Operation{
		"none": {}, "one": operations[:1], "raw values": operations[:2], "a text": operations[2:], "all": operations,
	} {
		t.Run(sentence, func(t *testing.T) {
			want, err := json.Marshal(some)
			if err != nil {
				t.Fatal(err)
			}
			got, err := merge.EncodePatch(some)
			if err != nil {
				t.Fatal(err)
			}
			if diff := jsontest.Diff(t, string(want), string(got)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodePatchRejectsInvalidValues(t *testing.T) {
	for sentence, value := range map[string]any{
		"a raw value that is no JSON":          json.RawMessage("{"),
		"a raw value that is nothing":          json.RawMessage(""),
		"a raw value that is two":              json.RawMessage("1 2"),
		"a raw value that repeats a name":      json.RawMessage(`{"a":1,"a":2}`),
		"a raw value nested too deeply":        json.RawMessage(strings.Repeat("[", 9999) + strings.Repeat("]", 9999)),
		"a text that is no UTF-8":              "\xff",
		"a value that is neither raw nor text": 7,
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := merge.EncodePatch([]jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec", value)})
			if diff := cmp.Diff(true, err != nil); diff != "" {
				t.Errorf("an error (-want +got):\n%s%s", diff, got)
			}
		})
	}
}
