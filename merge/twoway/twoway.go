package twoway

import (
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// ListOrder is the order of the elements in a merged list.
type ListOrder int

const (
	// LiveFirst keeps live's elements in their order, followed by the manifest's new elements in the manifest's order. It is
	// MergeOptionsListAppend in kyaml.
	LiveFirst ListOrder = iota
	// ManifestFirst puts the manifest's elements first, in the manifest's order, followed by the elements that only live has.
	// A list with several key fields starts with the manifest's new elements only, followed by all of live's in their order.
	// It is MergeOptionsListPrepend in kyaml.
	ManifestFirst
)

// Options configure a merge. The zero value is kyaml's default.
type Options struct {
	// Order is the order of the elements of merged lists.
	Order ListOrder
}

// Merge merges a manifest into a live object as kustomize merges a strategic merge patch (merge2 of
// sigs.k8s.io/kustomize/kyaml v0.21.1, which has no base). The rules are kyaml's:
//
//   - A scalar in the manifest replaces live's. A null in the manifest clears the field; a null that only live has stays.
//   - An object merges field by field, whatever its schema, unless its field $patch is replace (only the manifest's fields are
//     left) or delete (the object is deleted). $patch: merge has no effect. Other names that begin with $, such as
//     $setElementOrder/containers, are ordinary fields.
//   - A list merges by its schema. An element {$patch: replace|delete|merge} of a list that merges is a directive for the list.
//     In a list that is replaced it is an ordinary element.
//
// Values are decoded JSON: map[string]any, []any, strings, booleans, numbers of any type including json.Number, and nil for
// null. The result is nil if the manifest deletes the whole object. Merge does not modify its inputs, and the result shares
// values with them: make a copy before you modify any of them.
//
// s is Kustomize, an Inferred, or the schema of a type. If it is nil, Merge uses the zero Inferred, which merges lists by name.
//
// The error is an *InputError if manifest and live differ in kind, if an element of a list that merges lacks its key, if a
// field's name is empty, or if a $patch is unknown. docs/merge-differences-twoway.md lists where Merge is stricter than kyaml.
func Merge(manifest, live any, s schema.Schema, options Options) (any, error) {
	if s == nil {
		s = new(Inferred)
	}
	merged, _, err := merger{order: options.Order}.over(manifest, live, s)
	if err != nil {
		return nil, located(err)
	}
	return merged, nil
}

// merger merges one value over another.
type merger struct {
	order ListOrder
}

// outcome is the effect of a merge on a value.
type outcome int

const (
	// kept: the value is unchanged.
	kept outcome = iota
	// put: there is a new value.
	put
	// gone: there is no value.
	gone
)

// over merges the manifest's value over a value of live, which may be null.
func (m merger) over(manifest, live any, place schema.Schema) (any, outcome, error) {
	live = opened(live, manifest)
	if live == nil {
		return m.field(manifest, nil, false, place)
	}
	switch from := manifest.(type) {
	case nil:
		return nil, gone, nil
	case map[string]any:
		if to, ok := live.(map[string]any); ok {
			return m.object(from, to, place)
		}
	case []any:
		if to, ok := live.([]any); ok {
			return m.list(from, to, place)
		}
	default:
		switch live.(type) {
		case map[string]any, []any, rawJSON:
		default:
			if err := checkScalar(from); err != nil || from == live {
				return from, kept, err
			}
			return from, put, nil
		}
	}
	return nil, gone, wrong(inManifest, ErrWrongKind, "it is %s, and %s in live", kindName(manifest), kindName(live))
}

// added returns the manifest's value for a field that live lacks, or that the manifest replaces. The outcome is kept if the
// result is manifest itself.
func (m merger) added(manifest any, place schema.Schema) (any, outcome, error) {
	switch from := manifest.(type) {
	case nil:
		return nil, gone, nil
	case map[string]any:
		return m.newObject(from, place)
	case []any:
		return m.newList(from, place)
	default:
		return from, kept, checkScalar(from)
	}
}

// without returns the list without the elements for which drop returns true: the list itself if there are none.
func without(list []any, drop func(any) bool) []any {
	if !slices.ContainsFunc(list, drop) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), drop)
}
