// Package schema describes how the fields of Kubernetes objects merge: which objects and lists are replaced, which merge,
// and by what keys the elements of a list are matched.
//
// A Schema is made from a Go type of Kubernetes (Types.Of) or from the OpenAPI schema of a CustomResourceDefinition
// (OpenAPI); JSONMergePatch is for kinds without either. The packages threeway and twoway merge by it.
package schema

// Schema describes how the value at one place of an object merges, and leads to the places nested under it. It is never
// nil: where nothing is known of a place, its Schema has the zero Strategy.
//
// Implementations are safe for concurrent use, and cheap: a merge asks for each field of an object.
type Schema interface {
	// Field returns the schema of the field of that name, when the place holds an object.
	Field(name string) Schema
	// Element returns the schema of each element, when the place holds a list.
	Element() Schema
	// Strategy returns how the place itself merges.
	Strategy() Strategy
}

// Strategy is how an object or a list merges.
type Strategy struct {
	// Holds is what the place is declared to hold. A three-way merge refuses to merge objects or lists where something
	// else is declared; values of wrong kinds that it need not look into it leaves to the API server.
	Holds Kind
	// Object is how an object merges; of no meaning where the place holds something else.
	Object ObjectStrategy
	// List is how a list merges; of no meaning where the place holds something else.
	List ListStrategy
	// Keys are the names of the fields that tell the elements of a keyed list apart. Only a keyed list has any.
	Keys []string
}

// Kind is what a place is declared to hold; null aside, which every place can hold.
type Kind int

const (
	// HoldsAnything checks nothing: objects and lists merge by the place's other strategies, whichever the value is. It
	// is for places without a declared type (unknown fields, runtime.RawExtension), for places that take several kinds
	// (x-kubernetes-int-or-string, a JSON schema's default), and for Go types that write their own JSON, such as a
	// Quantity. A Schema that cannot know should answer it: any other answer makes values of other kinds an error.
	HoldsAnything Kind = iota
	// HoldsObject is said of structs and maps.
	HoldsObject
	// HoldsList is said of lists.
	HoldsList
	// HoldsScalar is said of strings, numbers and booleans.
	HoldsScalar
)

// ObjectStrategy is how an object merges.
type ObjectStrategy int

const (
	// MergeFields merges field by field.
	MergeFields ObjectStrategy = iota
	// ReplaceObject takes the object as a whole (x-kubernetes-map-type: atomic, patchStrategy=replace).
	ReplaceObject
	// RetainKeys merges field by field, and clears the fields that the manifest does not mention
	// (patchStrategy=retainKeys).
	RetainKeys
	// MergePatchFields merges field by field as a JSON merge patch (RFC 7386) does. It differs from MergeFields in what
	// a null means: see JSONMergePatch.
	MergePatchFields
)

// ListStrategy is how a list merges.
type ListStrategy int

const (
	// ReplaceList takes the list as a whole (x-kubernetes-list-type: atomic, no patchStrategy).
	ReplaceList ListStrategy = iota
	// MergeSet merges a list of scalars as an ordered set (x-kubernetes-list-type: set, patchStrategy=merge).
	MergeSet
	// MergeByKey merges a list of objects element by element (x-kubernetes-list-type: map, patchStrategy=merge with a
	// patchMergeKey).
	MergeByKey
	// InferKey merges a list by a key that all of its elements have, and replaces lists without one. Only a merge that
	// looks for such a key can do that: package twoway does, and package threeway returns an error.
	InferKey
)
