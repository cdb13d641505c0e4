package merge

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// set merges lists of scalars as ordered sets. 1 and "1" are the same member, of which the later spelling stays.
func (m twoWay) set(source, destination []any) (any, outcome, error) {
	if err := checkMembers(source, inSource); err != nil {
		return nil, gone, err
	}
	if err := checkMembers(destination, inDestination); err != nil {
		return nil, gone, err
	}
	if m.order == SourceFirst {
		return union(nil, slices.Concat(source, destination)), put, nil
	}
	return union(destination, source), put, nil
}

// members returns the set that source brings.
func (m twoWay) members(source []any) ([]any, error) {
	if err := checkMembers(source, inSource); err != nil || m.order == DestinationFirst {
		return source, err
	}
	return union(nil, source), nil
}

// union returns the list, and behind it the members that it lacks.
func union(list, members []any) []any {
	all := make([]any, len(list), len(list)+len(members))
	at := make(map[string]int, cap(all))
	for i, member := range list {
		all[i] = member
		if _, twice := at[textOf(member)]; !twice {
			at[textOf(member)] = i
		}
	}
	for _, member := range members {
		text := textOf(member)
		if i, ok := at[text]; ok {
			all[i] = member
			continue
		}
		at[text] = len(all)
		all = append(all, member)
	}
	return all
}

// checkMembers returns why a list is no set of scalars, or nil.
func checkMembers(list []any, side string) error {
	for i, member := range list {
		switch member.(type) {
		case nil, map[string]any, []any, rawJSON:
			return under(wrong(side, ErrWrongKind, "it is %s in a set of scalars", kindName(member)), fieldpath.IndexElement(i))
		}
	}
	return nil
}
