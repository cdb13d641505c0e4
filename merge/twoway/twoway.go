package twoway

import (
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// ListOrder is where a merged list has the elements of only one side.
type ListOrder int

const (
	// LiveFirst leaves live's elements where they are and puts the manifest's new ones behind them, in the manifest's
	// order. It is kyaml's MergeOptionsListAppend.
	LiveFirst ListOrder = iota
	// ManifestFirst puts the manifest's elements first, in the manifest's order, and then the ones that only live has. A list
	// whose elements several keys tell apart starts with the manifest's new elements only, and all of live's follow in
	// their order. It is kyaml's MergeOptionsListPrepend, in both.
	ManifestFirst
)

// Options are the choices that Merge leaves to its caller. The zero value is kyaml's default.
type Options struct {
	// Order is the order of the elements of merged lists.
	Order ListOrder
}

// Merge merges a manifest into a live object as kustomize merges a strategic merge patch (merge2 of
// sigs.k8s.io/kustomize/kyaml v0.21.1, which has no base). The rules are kyaml's:
//
//   - A scalar of the manifest replaces that of live. Null clears a field; a null that only live has stays.
//   - An object merges field by field, whatever the schema says of it, unless its field $patch says replace (only the
//     manifest's fields are left), delete (it goes) or merge. Other names with a dollar, such as
//     $setElementOrder/containers, are fields like any other.
//   - A list merges as the schema says of its place. A list that merges can hold an element {$patch: replace|delete|merge},
//     which speaks of the list. In a list that is replaced it is an element like any other.
//
// Both sides are decoded JSON: map[string]any, []any, strings, booleans, numbers of any type (json.Number included) and nil
// for null. So is the result, which is nil where the manifest deletes the whole object. The inputs are never changed; the
// result shares with them what the merge takes from them whole: copy before you change either.
//
// The schema is Kustomize, that of a type, or an Inferred. A nil schema is the zero Inferred, which merges lists by name.
//
// The error is an *InputError: manifest and live differ in kind, an element of a list that merges lacks its key, a field has
// no name, or a $patch is unknown. docs/merge-differences-twoway.md lists where that is stricter than kyaml.
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

// outcome is what becomes of a value of live.
type outcome int

const (
	// kept is the very value that live has.
	kept outcome = iota
	// put is another value.
	put
	// gone is none.
	gone
)

// over returns what the manifest makes of a live that is there, if only as null.
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

// added returns what the manifest alone makes: live has nothing there, or manifest replaces what it has. The outcome put
// says that it is another value than manifest.
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

// without returns the list without the elements that drop is true of. It is the list itself when there are none.
func without(list []any, drop func(any) bool) []any {
	if !slices.ContainsFunc(list, drop) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), drop)
}
