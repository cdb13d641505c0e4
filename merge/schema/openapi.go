package schema

import (
	"encoding/json"
	"fmt"
)

// openAPI has the parts of an OpenAPI schema that describe merging.
type openAPI struct {
	Type                 string              `json:"type"`
	Properties           map[string]*openAPI `json:"properties"`
	AdditionalProperties json.RawMessage     `json:"additionalProperties"`
	Items                *openAPI            `json:"items"`
	IntOrString          bool                `json:"x-kubernetes-int-or-string"`
	EmbeddedResource     bool                `json:"x-kubernetes-embedded-resource"`
	ListType             string              `json:"x-kubernetes-list-type"`
	ListMapKeys          []string            `json:"x-kubernetes-list-map-keys"`
	MapType              string              `json:"x-kubernetes-map-type"`
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
//   - Metadata merges as in every object, also in embedded resources (x-kubernetes-embedded-resource).
func OpenAPI(text []byte) (Schema, error) {
	root := &place{strategy: Strategy{Kind: ObjectKind}}
	types := new(Types)
	if len(text) > 0 {
		var declared openAPI
		if err := json.Unmarshal(text, &declared); err != nil {
			return nil, fmt.Errorf("reading the OpenAPI schema: %w", err)
		}
		var err error
		if root, err = types.declared(&declared); err != nil {
			return nil, err
		}
	}
	types.embed(root)
	return root, nil
}

func (t *Types) declared(schema *openAPI) (*place, error) {
	p := &place{strategy: Strategy{Kind: declaredKind(schema)}}
	switch p.strategy.Kind {
	case ListKind:
		return p, t.declareList(p, schema)
	case ObjectKind:
		return p, t.declareObject(p, schema)
	default:
		return p, nil
	}
}

func (t *Types) declareList(p *place, schema *openAPI) (err error) {
	if schema.Items != nil {
		if p.element, err = t.declared(schema.Items); err != nil {
			return err
		}
	}
	scalars := p.element != nil && p.element.strategy.Kind != ObjectKind && p.element.strategy.Kind != ListKind
	switch {
	case schema.ListType == "map" && len(schema.ListMapKeys) > 0:
		p.strategy.List, p.strategy.Keys = MergeByKey, schema.ListMapKeys
	case schema.ListType == "set" && scalars:
		p.strategy.List = MergeSet
	}
	return nil
}

func (t *Types) declareObject(p *place, schema *openAPI) (err error) {
	if schema.MapType == "atomic" {
		p.strategy.Object = ReplaceObject
	}
	p.fields = &fields{byName: make(map[string]*place, len(schema.Properties))}
	for name, property := range schema.Properties {
		if p.fields.byName[name], err = t.declared(property); err != nil {
			return err
		}
	}
	// additionalProperties is a schema, or a boolean, which does not describe the values.
	if more := schema.AdditionalProperties; len(more) > 0 && more[0] == '{' {
		var values openAPI
		if err := json.Unmarshal(more, &values); err != nil {
			return fmt.Errorf("reading the OpenAPI schema: additionalProperties: %w", err)
		}
		if p.fields.values, err = t.declared(&values); err != nil {
			return err
		}
	}
	if schema.EmbeddedResource {
		t.embed(p)
	}
	return nil
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
