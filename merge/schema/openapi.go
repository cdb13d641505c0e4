package schema

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// openAPI has the parts of an OpenAPI schema that describe merging. nil describes nothing.
type openAPI struct {
	Type                 string              `json:"type"`
	Properties           map[string]*openAPI `json:"properties"`
	AdditionalProperties schemaOrBool        `json:"additionalProperties"`
	Items                *openAPI            `json:"items"`
	IntOrString          bool                `json:"x-kubernetes-int-or-string"`
	EmbeddedResource     bool                `json:"x-kubernetes-embedded-resource"`
	ListType             string              `json:"x-kubernetes-list-type"`
	ListMapKeys          []string            `json:"x-kubernetes-list-map-keys"`
	MapType              string              `json:"x-kubernetes-map-type"`
	Default              jsontext.Value      `json:"default"`
}

// schemaOrBool is a schema, or a boolean, which describes nothing.
type schemaOrBool struct{ schema *openAPI }

// UnmarshalJSONFrom implements json.UnmarshalerFrom. Unlike json.Unmarshaler, it reads nested schemas in linear time.
func (s *schemaOrBool) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() != '{' {
		return in.SkipValue()
	}
	s.schema = new(openAPI)
	return json.UnmarshalDecode(in, s.schema)
}

// OpenAPI returns the schema of a CustomResourceDefinition's objects. text is the JSON text of openAPIV3Schema in one of the
// definition's versions; it is empty for a definition without a schema. The error is that of the JSON decoder.
//
// The rules are those of server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy):
//
//   - Lists are atomic unless x-kubernetes-list-type is set or map. A set whose elements are not scalars is atomic.
//   - Objects are granular unless x-kubernetes-map-type is atomic.
//   - Objects of unknown fields (x-kubernetes-preserve-unknown-fields) are granular, and their lists are atomic.
//   - An element of a keyed list that lacks a key field has the field's default as its key.
//   - Metadata merges as in every object, also in embedded resources (x-kubernetes-embedded-resource).
func OpenAPI(text []byte) (Schema, error) {
	object, err := compiler{}.read([]byte(objectSchema))
	if err != nil || len(text) == 0 {
		return object, err
	}
	c := compiler{object: object.Fields}
	root, err := c.read(text)
	if err != nil {
		return nil, err
	}
	c.embed(root)
	return root, nil
}

// objectSchema has the fields of every Kubernetes object, as metav1.ObjectMeta declares them.
const objectSchema = `{"type": "object", "properties": {
	"apiVersion": {"type": "string"},
	"kind": {"type": "string"},
	"metadata": {"type": "object", "properties": {
		"name": {"type": "string"},
		"generateName": {"type": "string"},
		"namespace": {"type": "string"},
		"selfLink": {"type": "string"},
		"uid": {"type": "string"},
		"resourceVersion": {"type": "string"},
		"generation": {"type": "integer"},
		"deletionGracePeriodSeconds": {"type": "integer"},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"annotations": {"type": "object", "additionalProperties": {"type": "string"}},
		"finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"], "items": {
			"type": "object", "properties": {
				"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}, "uid": {"type": "string"},
				"controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}}}},
		"managedFields": {"type": "array", "items": {"type": "object", "properties": {
			"manager": {"type": "string"}, "operation": {"type": "string"}, "apiVersion": {"type": "string"},
			"fieldsType": {"type": "string"}, "subresource": {"type": "string"}}}}
	}}
}}`

// compiler compiles OpenAPI schemas.
type compiler struct {
	object map[string]*Declared // the fields of every object
}

// read compiles a text.
func (c compiler) read(text []byte) (*Declared, error) {
	var schema openAPI
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI schema: %w", err)
	}
	return c.declared(&schema), nil
}

func (c compiler) declared(schema *openAPI) *Declared {
	if schema == nil {
		return &Declared{}
	}
	d := &Declared{Merges: Strategy{Kind: declaredKind(schema)}}
	switch d.Merges.Kind {
	case ListKind:
		c.declareList(d, schema)
	case ObjectKind:
		c.declareObject(d, schema)
	default:
	}
	return d
}

func (c compiler) declareList(d *Declared, schema *openAPI) {
	d.Elements = c.declared(schema.Items)
	kind := d.Elements.Merges.Kind
	scalars := schema.Items != nil && kind != ObjectKind && kind != ListKind
	switch {
	case schema.ListType == "map" && len(schema.ListMapKeys) > 0:
		d.Merges.List, d.Merges.Keys, d.Merges.Defaults = MergeByKey, schema.ListMapKeys, schema.keyDefaults()
	case schema.ListType == "set" && scalars:
		d.Merges.List = MergeSet
	}
}

// keyDefaults returns the defaults of a list's keys.
func (schema *openAPI) keyDefaults() map[string]string {
	defaults := map[string]string{}
	if schema.Items == nil {
		return defaults
	}
	for _, name := range schema.ListMapKeys {
		if key := schema.Items.Properties[name]; key != nil && len(key.Default) > 0 {
			defaults[name] = string(key.Default)
		}
	}
	return defaults
}

func (c compiler) declareObject(d *Declared, schema *openAPI) {
	if schema.MapType == "atomic" {
		d.Merges.Object = ReplaceObject
	}
	d.Fields = make(map[string]*Declared, len(schema.Properties))
	for name, property := range schema.Properties {
		d.Fields[name] = c.declared(property)
	}
	delete(d.Fields, "") // which is that of other fields
	if values := schema.AdditionalProperties.schema; values != nil {
		d.Fields[""] = c.declared(values)
	}
	if schema.EmbeddedResource {
		c.embed(d)
	}
}

// embed adds apiVersion, kind and metadata to an object, even if its schema does not declare them.
func (c compiler) embed(d *Declared) {
	if d.Fields == nil {
		d.Fields = map[string]*Declared{}
	}
	maps.Copy(d.Fields, c.object)
}

func declaredKind(schema *openAPI) Kind {
	if schema.IntOrString {
		return AnyKind
	}
	switch schema.Type {
	case "object":
		return ObjectKind
	case "array":
		return ListKind
	case "string", "integer", "number", "boolean":
		return ScalarKind
	default:
		return AnyKind
	}
}
