package merge

import "slices"

// ListOrder says where the elements that only one side has stand in a merged list.
type ListOrder int

const (
	// DestinationFirst leaves destination's elements where they are and puts source's new ones behind them, in source's
	// order. It is kyaml's MergeOptionsListAppend.
	DestinationFirst ListOrder = iota
	// SourceFirst puts source's elements first, in source's order, and then the ones that only destination has. A list
	// whose elements several keys tell apart starts with source's new elements only, and all of destination's follow in
	// their order. It is kyaml's MergeOptionsListPrepend, in both.
	SourceFirst
)

// TwoWayOptions are the choices that TwoWay leaves to its caller. The zero value is kyaml's default.
type TwoWayOptions struct {
	// Order is the order of the elements of merged lists.
	Order ListOrder
}

// TwoWay returns source merged over destination: what kustomize does with a strategic merge patch (merge2 of
// sigs.k8s.io/kustomize/kyaml v0.21.1, without a base). The rules are kyaml's:
//
//   - a scalar of source takes the place of destination's; null clears, and a null that only destination has stays;
//   - an object merges field by field, whatever the schema says of it, unless its field $patch says replace (source's
//     alone counts), delete (it goes) or merge; other names with a dollar, such as $setElementOrder/containers, are
//     fields like any other;
//   - a list merges as schema says of its place. One that merges can hold an element {$patch: replace|delete|merge}, which
//     means the list; in one that is replaced, that is an element like any other.
//
// Both sides are decoded JSON: map[string]any, []any, strings, booleans, numbers of any type (json.Number included) and
// nil for null. So is the result, which is nil where source deletes the whole. Neither side is changed. The result shares
// with them whatever the merge has not touched: who wants to change it, or them, copies first.
//
// Where nothing is known of the objects, schema is an Inferred; nil means the zero one.
//
// The error is an *InputError that names the place: source and destination differ in kind there, an element of a
// merged list lacks the key, or a $patch is unknown. Where that is stricter than kyaml, and what else differs, is listed
// with its reason in docs/merge-differences-twoway.md.
func TwoWay(source, destination any, schema Schema, options TwoWayOptions) (any, error) {
	if schema == nil {
		schema = new(Inferred)
	}
	merged, _, err := twoWay{order: options.Order}.over(source, destination, schema)
	if err != nil {
		return nil, located(err)
	}
	return merged, nil
}

// twoWay merges one value over another.
type twoWay struct {
	order ListOrder
}

// outcome is what becomes of a value of destination.
type outcome int

const (
	// kept is the very value that destination has.
	kept outcome = iota
	// put is another value.
	put
	// gone is none.
	gone
)

// over returns what source makes of a destination that is there, if only as null.
func (m twoWay) over(source, destination any, schema Schema) (any, outcome, error) {
	destination = opened(destination, source)
	if destination == nil {
		return m.field(source, nil, false, schema)
	}
	switch from := source.(type) {
	case nil:
		return nil, gone, nil
	case map[string]any:
		if to, ok := destination.(map[string]any); ok {
			return m.object(from, to, schema)
		}
	case []any:
		if to, ok := destination.([]any); ok {
			return m.list(from, to, schema)
		}
	default:
		switch destination.(type) {
		case map[string]any, []any, rawJSON:
		default:
			if err := checkScalar(from); err != nil || from == destination {
				return from, kept, err
			}
			return from, put, nil
		}
	}
	return nil, gone, wrong(inSource, ErrWrongKind, "it is %s, and %s in destination", kindName(source), kindName(destination))
}

// added returns what source alone makes: destination has nothing there, or source replaces what it has. The outcome put
// says that it is another value than source.
func (m twoWay) added(source any, schema Schema) (any, outcome, error) {
	switch from := source.(type) {
	case nil:
		return nil, gone, nil
	case map[string]any:
		return m.newObject(from, schema)
	case []any:
		return m.newList(from, schema)
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
