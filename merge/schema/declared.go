package schema

import "strings"

// Declared is a Schema that is known before the merge. It must not change after first use. Declared schemas form a graph rather
// than a tree, because types can be recursive.
type Declared struct {
	// Merges is how the field itself merges.
	Merges Strategy
	// Fields are the schemas of an object's fields, by name. The one of the empty name is that of all other fields, such as the
	// values of a map.
	Fields map[string]*Declared
	// FoldsCase reports whether names match as in encoding/json: a field can have the name of another one in another case.
	FoldsCase bool
	// Elements is the schema of a list's elements.
	Elements *Declared
	// Unknown is the schema of fields and elements without one of their own. If it is nil, objects merge field by field, and
	// lists are replaced.
	Unknown Schema
}

// Field implements Schema.
func (d *Declared) Field(name string) Schema {
	if field, ok := d.Fields[name]; ok {
		return field
	}
	if d.FoldsCase {
		for declared, field := range d.Fields {
			if declared != "" && strings.EqualFold(declared, name) {
				return field
			}
		}
	}
	return d.known(d.Fields[""])
}

// Element implements Schema.
func (d *Declared) Element() Schema { return d.known(d.Elements) }

func (d *Declared) known(schema *Declared) Schema {
	switch {
	case schema != nil:
		return schema
	case d.Unknown != nil:
		return d.Unknown
	default:
		return uniform{}
	}
}

// Strategy implements Schema.
func (d *Declared) Strategy() Strategy { return d.Merges }

// uniform is a Schema with one strategy for a field and all that are nested under it.
type uniform struct{ strategy Strategy }

func (u uniform) Field(string) Schema { return u }
func (u uniform) Element() Schema     { return u }
func (u uniform) Strategy() Strategy  { return u.strategy }

// JSONMergePatch returns the schema of custom resources under client-side apply, for which kubectl sends a JSON merge patch
// (RFC 7386): objects merge field by field, lists are replaced.
//
// Nulls have the meaning that they have in k8s.io/apimachinery/pkg/util/jsonmergepatch: a null in the manifest removes the
// live field unless the base also has that null, and the result contains no null of the manifest.
func JSONMergePatch() Schema { return uniform{Strategy{Object: MergePatchFields}} }
