package source_test

import (
	"errors"
	"testing"

	"github.com/ownership-handoff/handoff/plugin/source"
)

func TestParserTextHidesWhatItQuotesFromTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"yaml: line 3: did not find expected ',' or ']'":    "line 3: did not find expected ',' or ']'",
		"yaml: line 3: did not find expected '-' indicator": "line 3: did not find expected '-' indicator",
		"yaml: unknown anchor 'hunter2' referenced":         "unknown anchor *** referenced",
		"yaml: unknown anchor 'h' referenced":               "unknown anchor *** referenced",
		"yaml: unknown anchor '!?' referenced":              "unknown anchor *** referenced",
		"invalid character 'h' looking for a value":         "invalid character *** looking for a value",
	} {
		if got := source.ParserText(errors.New(text)); got != want {
			t.Errorf("%s: want %s, got %s", text, want, got)
		}
	}
}
