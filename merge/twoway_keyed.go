package merge

import "slices"

// keyed merges lists of objects element by element.
func (m twoWay) keyed(source, destination []any, keys []string, schema Schema) (any, outcome, error) {
	if len(source) == 0 {
		return destination, kept, nil
	}
	pairs, err := pair(source, destination, keys)
	if err != nil {
		return nil, gone, err
	}
	merged, done := destination, kept
	var added []any // by index of source, where the element has no partner
	for i, from := range source {
		to := any(nil)
		at := pairs.partner[i]
		if at >= 0 && !isRemoved(merged[at]) {
			to = merged[at]
		}
		value, did, err := m.field(from, to, to != nil, schema)
		if err != nil {
			return nil, gone, under(err, elementOf(from, keys))
		}
		if did == kept {
			continue
		}
		if did == gone {
			value = removed{}
		}
		if at < 0 {
			if added == nil {
				added = make([]any, len(source))
			}
			added[i] = value
			continue
		}
		if done == kept {
			merged, done = slices.Clone(destination), put
		}
		merged[at] = value
	}
	if added == nil && done == kept && m.order == DestinationFirst {
		return destination, kept, nil
	}
	return m.ordered(merged, added, pairs), put, nil
}

// ordered returns the elements of a merged list in the order that the options ask for: merged are destination's, and
// added are source's new ones, each at its index there.
func (m twoWay) ordered(merged, added []any, pairs pairing) []any {
	list := make([]any, 0, len(merged)+len(pairs.partner))
	put := func(element any) {
		if element != nil && !isRemoved(element) {
			list = append(list, element)
		}
	}
	fresh := func(i int) {
		if added != nil {
			put(added[i])
		}
	}
	if m.order == DestinationFirst {
		for _, element := range merged {
			put(element)
		}
	}
	placed := make([]bool, len(merged))
	for i, at := range pairs.partner {
		switch {
		case at < 0:
			fresh(i)
		case m.order == SourceFirst && !pairs.several && !placed[at]:
			put(merged[at])
			placed[at] = true
		}
	}
	if m.order == SourceFirst {
		for at, element := range merged {
			if !placed[at] {
				put(element)
			}
		}
	}
	return list
}
