package schema_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/merge/schema"
)

func TestOpenAPIDescribesNothingForNull(t *testing.T) {
	for name, text := range map[string]string{
		"no schema at all":     ``,
		"the whole schema":     `null`,
		"a property":           `{"type": "object", "properties": {"a": null}}`,
		"the properties":       `{"type": "object", "properties": null}`,
		"additionalProperties": `{"type": "object", "additionalProperties": null}`,
		"items":                `{"type": "object", "properties": {"a": {"items": null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			place, err := schema.OpenAPI([]byte(text))
			expect.NoError(t, err)
			for _, field := range []schema.Schema{place.Field("a"), place.Field("a").Field("list")} {
				expect.Equal(t, "strategy", schema.Strategy{}, field.Strategy())
			}
		})
	}
}

func TestOpenAPIReadsNestedSchemasInLinearTime(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times")
	}
	growth.WantLinear(t, 1500, func(levels int) func() {
		text := []byte(strings.Repeat(`{"type":"object","additionalProperties":`, levels) + `true` + strings.Repeat(`}`, levels))
		return func() {
			_, err := schema.OpenAPI(text)
			expect.NoError(t, err)
		}
	})
}

func TestOpenAPIRejectsInvalidSchemas(t *testing.T) {
	for name, text := range map[string]string{
		"a text that is no JSON":                `{`,
		"a type that is no string":              `{"type": ["object"]}`,
		"an items that is a list":               `{"type": "array", "items": [{}]}`,
		"additionalProperties of a wrong shape": `{"type": "object", "additionalProperties": {"type": 1}}`,
		"properties that are scalars":           `{"type": "object", "properties": {"a": 1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.OpenAPI([]byte(text)); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestMetadataEqualsObjectMeta compares the copy of the metadata's type with what upstream looks up in the type.
func TestMetadataEqualsObjectMeta(t *testing.T) {
	custom, err := schema.OpenAPI(nil)
	expect.NoError(t, err)
	walk := schemaWalk{t: t, seen: map[reflect.Type]bool{}}
	walk.fields(reflect.TypeFor[metav1.ObjectMeta](), custom.Field("metadata"))
	if walk.compared < 25 {
		t.Errorf("only %d fields compared", walk.compared)
	}
}
