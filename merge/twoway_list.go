package merge

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// list merges source's list over destination's, as schema says of the place.
func (m twoWay) list(source, destination []any, schema Schema) (any, outcome, error) {
	schema, err := seenList(schema, source, destination)
	if err != nil {
		return nil, gone, err
	}
	strategy := schema.Strategy()
	if strategy.List == ReplaceList {
		return source, put, nil
	}
	said, source, err := listDirectiveOf(source)
	if err != nil {
		return nil, gone, err
	}
	switch {
	case said == deletes:
		return nil, gone, nil
	case said == replaces:
		merged, err := m.elements(source, strategy, schema.Element())
		return merged, put, err
	case strategy.List == MergeSet:
		return m.set(source, destination)
	default:
		return m.keyed(source, destination, strategy.Keys, schema.Element())
	}
}

// newList returns the list that source brings.
func (m twoWay) newList(source []any, schema Schema) (any, outcome, error) {
	schema, err := seenList(schema, source, nil)
	if err != nil {
		return nil, gone, err
	}
	strategy := schema.Strategy()
	if strategy.List == ReplaceList {
		return source, kept, nil
	}
	said, source, err := listDirectiveOf(source)
	if err != nil || said == deletes {
		return nil, gone, err
	}
	merged, err := m.elements(source, strategy, schema.Element())
	return merged, put, err
}

// elements returns source's own elements, in a list that would merge: without those that delete themselves.
func (m twoWay) elements(source []any, strategy Strategy, schema Schema) ([]any, error) {
	if strategy.List == MergeSet {
		return m.members(source)
	}
	if _, err := identify(source, strategy.Keys, inSource); err != nil {
		return nil, err
	}
	merged, done := source, kept
	for i, from := range source {
		value, did, err := m.added(from, schema)
		if err != nil {
			return nil, under(err, elementOf(from, strategy.Keys))
		}
		if did == kept {
			continue
		}
		if done == kept {
			merged, done = slices.Clone(source), put
		}
		merged[i] = value
		if did == gone {
			merged[i] = removed{}
		}
	}
	return without(merged, isRemoved), nil
}

// removed stands in a list for an element that is to go.
type removed struct{}

func isRemoved(element any) bool {
	_, ok := element.(removed)
	return ok
}

// elementOf names an element of a keyed list in a path.
func elementOf(element any, keys []string) fieldpath.PathElement {
	object, _ := element.(map[string]any)
	var named []any
	for _, key := range keys {
		if _, ok := identity(object, key); ok {
			named = append(named, key, plain(object[key]))
		}
	}
	return fieldpath.PathElement{Key: fieldpath.KeyByFields(named...)}
}
