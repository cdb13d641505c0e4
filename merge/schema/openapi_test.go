package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/merge/schema"
)

func TestOpenAPIWithoutASchema(t *testing.T) {
	place, err := schema.OpenAPI(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(schema.Strategy{}, place.Field("spec").Field("list").Strategy()); diff != "" {
		t.Errorf("strategy (-want +got):\n%s", diff)
	}
}

func TestOpenAPIDescribesNothingForNull(t *testing.T) {
	for name, text := range map[string]string{
		"the whole schema":     `null`,
		"a property":           `{"type": "object", "properties": {"a": null}}`,
		"the properties":       `{"type": "object", "properties": null}`,
		"additionalProperties": `{"type": "object", "additionalProperties": null}`,
		"items":                `{"type": "object", "properties": {"a": {"items": null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			place, err := schema.OpenAPI([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(schema.Strategy{}, place.Field("a").Strategy()); diff != "" {
				t.Errorf("strategy (-want +got):\n%s", diff)
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
			if _, err := schema.OpenAPI(text); err != nil {
				t.Fatal(err)
			}
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

// TestMetadataEqualsObjectMeta compares the copy of the metadata's type with the type.
func TestMetadataEqualsObjectMeta(t *testing.T) {
	custom, err := schema.OpenAPI(nil)
	if err != nil {
		t.Fatal(err)
	}
	var types schema.Types
	compared := sameSchema(t, "", types.Of(&metav1.PartialObjectMetadata{}), custom, []string{"metadata", "apiVersion", "kind"})
	if compared < 30 {
		t.Errorf("only %d fields compared", compared)
	}
}

// sameSchema compares two schemas at the fields of these names, and at all metadata fields nested under them.
func sameSchema(t *testing.T, at string, want, got schema.Schema, names []string) int {
	t.Helper()
	nested := map[string][]string{
		".metadata": {
			"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
			"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
			"managedFields", "unheardOf",
		},
		".metadata.labels": {"a"}, ".metadata.annotations": {"a"}, ".metadata.finalizers": {"[]"},
		".metadata.ownerReferences": {"[]"}, ".metadata.managedFields": {"[]"},
		".metadata.ownerReferences.[]": {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion", "x"},
		".metadata.managedFields.[]":   {"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource", "x"},
	}
	compared := 0
	for _, name := range names {
		path := at + "." + name
		w, g := want.Field(name), got.Field(name)
		if name == "[]" {
			w, g = want.Element(), got.Element()
		}
		if diff := cmp.Diff(w.Strategy(), g.Strategy()); diff != "" {
			t.Errorf("%s (-type of Kubernetes +copy):\n%s", path, diff)
		}
		compared += 1 + sameSchema(t, path, w, g, nested[path])
	}
	return compared
}
