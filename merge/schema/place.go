package schema

import "strings"

// place is a compiled Schema: how one place merges, and what is beneath it. Places are immutable once compiled. They form
// a graph rather than a tree: a type that holds itself leads back to its own fields.
type place struct {
	strategy Strategy
	// fields of an object; nil where it has none that are known.
	fields *fields
	// element of a list; nil where nothing is known of it.
	element *place
}

// fields are what a struct or a map holds.
type fields struct {
	byName map[string]*place
	// names of a struct in the order of its declaration, for names that differ in case.
	names []string
	// values of a map; nil where nothing is known of them.
	values *place
}

// Field implements Schema. A struct's field is found as the JSON library does: by its name, else by the first declared
// name that differs in case only.
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

// unknown is the Schema of a place that a known type does not describe: objects merge field by field, lists are
// replaced.
type unknown struct{}

func (unknown) Field(string) Schema { return unknown{} }
func (unknown) Element() Schema     { return unknown{} }
func (unknown) Strategy() Strategy  { return Strategy{} }

// JSONMergePatch returns the schema of custom resources under client-side apply, where kubectl knows no types and sends a
// JSON merge patch (RFC 7386): objects merge field by field, lists are replaced.
//
// Nulls are read as k8s.io/apimachinery/pkg/util/jsonmergepatch reads them: a null in the manifest clears the live field
// unless the base had that null already, and never reaches the result.
func JSONMergePatch() Schema { return mergePatch{} }

type mergePatch struct{}

func (mergePatch) Field(string) Schema { return mergePatch{} }
func (mergePatch) Element() Schema     { return mergePatch{} }
func (mergePatch) Strategy() Strategy  { return Strategy{Object: MergePatchFields} }
