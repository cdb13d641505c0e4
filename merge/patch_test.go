package merge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge"
)

func TestEncodePatch(t *testing.T) {
	for sentence, c := range map[string]struct {
		operations []merge.Operation
		want       string
	}{
		"no operation":     {nil, `[]`},
		"a removal":        {[]merge.Operation{{Op: "remove", Path: `/a/"b"`}}, `[{"op":"remove","path":"/a/\"b\""}]`},
		"a raw value":      {[]merge.Operation{{Op: "add", Path: "/a~1b~0c", Value: json.RawMessage(` { "a" : [ null , "\u00e9<" ] } `)}}, `[{"op":"add","path":"/a~1b~0c","value":{"a":[null,"é<"]}}]`},
		"null as a value":  {[]merge.Operation{{Op: "add", Path: "/a", Value: json.RawMessage("null")}}, `[{"op":"add","path":"/a","value":null}]`},
		"a text":           {[]merge.Operation{{Op: "replace", Path: "/a", Value: "a \"quoted\"\n text, <&> and é"}}, `[{"op":"replace","path":"/a","value":"a \"quoted\"\n text, <&> and é"}]`},
		"an empty text":    {[]merge.Operation{{Op: "replace", Path: "/a", Value: ""}}, `[{"op":"replace","path":"/a","value":""}]`},
		"several in order": {[]merge.Operation{{Op: "remove", Path: "/b"}, {Op: "remove", Path: "/a"}}, `[{"op":"remove","path":"/b"},{"op":"remove","path":"/a"}]`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := merge.EncodePatch(c.operations)
			expect.NoError(t, err)
			expect.Equal(t, "patch", c.want, string(got))
		})
	}
}

func TestEncodePatchRejectsInvalidValues(t *testing.T) {
	for sentence, value := range map[string]any{
		"a raw value that is no JSON":     json.RawMessage("{"),
		"a raw value that is nothing":     json.RawMessage(""),
		"a raw value that is two":         json.RawMessage("1 2"),
		"a raw value that repeats a name": json.RawMessage(`{"a":1,"a":2}`),
		"a raw value nested too deeply":   json.RawMessage(strings.Repeat("[", 9999) + strings.Repeat("]", 9999)),
		"a text that is no UTF-8":         "\xff",
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := merge.EncodePatch([]merge.Operation{{Op: "add", Path: "/spec", Value: value}})
			if diff := cmp.Diff(true, err != nil); diff != "" {
				t.Errorf("an error (-want +got):\n%s%s", diff, got)
			}
		})
	}
}
