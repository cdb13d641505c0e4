// Package schema describes how the fields of Kubernetes objects merge: which objects and lists are atomic, which merge, and
// by which keys list elements are matched.
//
// Types.Of returns the Schema of a Go type of k8s.io/api, OpenAPI that of a CustomResourceDefinition, and JSONMergePatch that
// of kinds without either. The packages threeway and twoway merge by a Schema.
package schema

// Schema describes how a field merges, and the fields nested under it. No method returns a nil Schema: a field of unknown
// type has the zero Strategy.
//
// Implementations must be safe for concurrent use. Their methods should be fast, because a merge calls them for each field of
// an object.
type Schema interface {
	// Field returns the schema of an object's field with that name.
	Field(name string) Schema
	// Element returns the schema of a list's elements.
	Element() Schema
	// Strategy returns how the field itself merges.
	Strategy() Strategy
}

// Strategy is how a field merges.
type Strategy struct {
	// Kind is the declared kind of the field's value. A three-way merge returns an error if it has to merge an object or a
	// list for which another kind is declared. It does not check other values, which the API server validates.
	Kind Kind
	// Object is how an object merges. It is ignored for other values.
	Object ObjectStrategy
	// List is how a list merges. It is ignored for other values.
	List ListStrategy
	// Keys are the names of the key fields of a keyed list (MergeByKey), by which its elements are matched. They are empty for
	// other fields.
	Keys []string
	// Defaults are the defaults of key fields, as JSON texts by name: an element without the field has the default as its key,
	// as in server-side apply.
	Defaults map[string]string
}

// Kind is the declared kind of a field's value. Every field can also be null.
type Kind int

const (
	// AnyKind allows any value. An object or a list merges by the field's Object or List strategy. It is for fields
	// without a declared type (unknown fields, runtime.RawExtension), for fields that allow several kinds
	// (x-kubernetes-int-or-string, the default of a JSON schema), and for Go types with their own JSON encoding, such as a
	// Quantity. A Schema should return it for every field of unknown kind: with any other kind, values of other kinds are an
	// error.
	AnyKind Kind = iota
	// ObjectKind is for structs and maps.
	ObjectKind
	// ListKind is for lists.
	ListKind
	// ScalarKind is for strings, numbers and booleans.
	ScalarKind
)

// ObjectStrategy is how an object merges.
type ObjectStrategy int

const (
	// MergeFields merges field by field.
	MergeFields ObjectStrategy = iota
	// ReplaceObject replaces the object: it is atomic (x-kubernetes-map-type: atomic, patchStrategy=replace).
	ReplaceObject
	// RetainKeys merges field by field, and removes the fields that the manifest lacks (patchStrategy=retainKeys).
	RetainKeys
	// MergePatchFields merges field by field like a JSON merge patch (RFC 7386). It differs from MergeFields in the meaning of
	// null: see JSONMergePatch.
	MergePatchFields
)

// ListStrategy is how a list merges.
type ListStrategy int

const (
	// ReplaceList replaces the list: it is atomic (x-kubernetes-list-type: atomic, no patchStrategy).
	ReplaceList ListStrategy = iota
	// MergeSet merges a list of scalars as an ordered set (x-kubernetes-list-type: set, patchStrategy=merge).
	MergeSet
	// MergeByKey merges a list of objects element by element (x-kubernetes-list-type: map, patchStrategy=merge with a
	// patchMergeKey).
	MergeByKey
	// InferKey merges a list of objects by a field that all of its elements have, and replaces lists without such a field.
	// Package twoway supports it; package threeway returns an error.
	InferKey
)
