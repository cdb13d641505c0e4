package schema

import "strings"

// place is a compiled Schema. Places are immutable once compiled. They form a graph rather than a tree, because Go types can
// be recursive.
type place struct {
	strategy Strategy
	// fields are those of an object; nil if they are unknown.
	fields *fields
	// element is the place of a list's elements; nil if it is unknown.
	element *place
}

// fields are the places of a struct's fields or of a map's values.
type fields struct {
	byName map[string]*place
	// names are those of a struct's fields, in the order of declaration.
	names []string
	// values is the place of a map's values; nil if it is unknown.
	values *place
}

// Field implements Schema. It finds the field of a struct as encoding/json does: by its name, else by the first declared name
// that differs only in case.
func (p *place) Field(name string) Schema {
	if p.fields == nil {
		return unknown{}
	}
	if field, ok := p.fields.byName[name]; ok {
		return field
	}
	for _, declared := range p.fields.names {
		if strings.EqualFold(declared, name) {
			return p.fields.byName[declared]
		}
	}
	if p.fields.values != nil {
		return p.fields.values
	}
	return unknown{}
}

// Element implements Schema.
func (p *place) Element() Schema {
	if p.element == nil {
		return unknown{}
	}
	return p.element
}

// Strategy implements Schema.
func (p *place) Strategy() Strategy { return p.strategy }

// unknown is the Schema of a field of unknown type: objects merge field by field, lists are replaced.
type unknown struct{}

func (unknown) Field(string) Schema { return unknown{} }
func (unknown) Element() Schema     { return unknown{} }
func (unknown) Strategy() Strategy  { return Strategy{} }

// JSONMergePatch returns the schema of custom resources under client-side apply, for which kubectl sends a JSON merge patch
// (RFC 7386): objects merge field by field, lists are replaced.
//
// Nulls have the meaning that they have in k8s.io/apimachinery/pkg/util/jsonmergepatch: a null in the manifest removes the
// live field unless the base also has that null, and the result contains no null of the manifest.
func JSONMergePatch() Schema { return mergePatch{} }

type mergePatch struct{}

func (mergePatch) Field(string) Schema { return mergePatch{} }
func (mergePatch) Element() Schema     { return mergePatch{} }
func (mergePatch) Strategy() Strategy  { return Strategy{Object: MergePatchFields} }
