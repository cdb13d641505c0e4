package schema

import (
	"fmt"

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
	root := &place{strategy: Strategy{Kind: ObjectKind}}
	types := new(Types)
	if len(text) > 0 {
		var declared openAPI
		if err := json.Unmarshal(text, &declared); err != nil {
			return nil, fmt.Errorf("reading the OpenAPI schema: %w", err)
		}
		root = types.declared(&declared)
	}
	types.embed(root)
	return root, nil
}

func (t *Types) declared(schema *openAPI) *place {
	if schema == nil {
		return &place{}
	}
	p := &place{strategy: Strategy{Kind: declaredKind(schema)}}
	switch p.strategy.Kind {
	case ListKind:
		t.declareList(p, schema)
	case ObjectKind:
		t.declareObject(p, schema)
	default:
	}
	return p
}

func (t *Types) declareList(p *place, schema *openAPI) {
	p.element = t.declared(schema.Items)
	holds := p.element.strategy.Kind
	scalars := schema.Items != nil && holds != ObjectKind && holds != ListKind
	switch {
	case schema.ListType == "map" && len(schema.ListMapKeys) > 0:
		p.strategy.List, p.strategy.Keys, p.strategy.Defaults = MergeByKey, schema.ListMapKeys, schema.keyDefaults()
	case schema.ListType == "set" && scalars:
		p.strategy.List = MergeSet
	}
}

// keyDefaults returns the defaults of a list's keys, nil if they have none.
func (schema *openAPI) keyDefaults() map[string]string {
	if schema.Items == nil {
		return nil
	}
	var defaults map[string]string
	for _, name := range schema.ListMapKeys {
		if key := schema.Items.Properties[name]; key != nil && len(key.Default) > 0 {
			if defaults == nil {
				defaults = map[string]string{}
			}
			defaults[name] = string(key.Default)
		}
	}
	return defaults
}

func (t *Types) declareObject(p *place, schema *openAPI) {
	if schema.MapType == "atomic" {
		p.strategy.Object = ReplaceObject
	}
	p.fields = &fields{byName: make(map[string]*place, len(schema.Properties))}
	for name, property := range schema.Properties {
		p.fields.byName[name] = t.declared(property)
	}
	if values := schema.AdditionalProperties.schema; values != nil {
		p.fields.values = t.declared(values)
	}
	if schema.EmbeddedResource {
		t.embed(p)
	}
}

// embed adds apiVersion, kind and metadata to an object, even if its schema does not declare them.
func (t *Types) embed(p *place) {
	if p.fields == nil {
		p.fields = &fields{byName: map[string]*place{}}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, field := range t.fieldsOf(objectType()).byName {
		p.fields.byName[name] = field
	}
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
