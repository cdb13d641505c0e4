package twoway

import (
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// separator separates the key values in an identity. Kubernetes keys do not contain it.
const separator = "\x00"

// identities are the key values by which the elements of a keyed list are matched.
type identities struct {
	texts []string
	// several reports whether an element has a key field besides the first, partial whether an element lacks one.
	several, partial bool
}

// identify returns the identities of a list's elements. Each element must be an object with the first key field. side is
// the name of the input, for the error.
func (m *merger) identify(list *node, strategy schema.Strategy, side string) (identities, error) {
	keys := strategy.Keys
	ids := identities{texts: make([]string, len(list.Children))}
	if len(keys) == 0 {
		return ids, m.wrong(side, ErrNoKey, "the schema declares no key for the list")
	}
	for i := range list.Children {
		element := &list.Children[i].Node
		m.at.Enter(step{IsIndex: true, Index: i})
		if element.Kind != '{' {
			return ids, m.wrong(side, ErrWrongKind, "it is %s in a list of objects", element.Describe())
		}
		text, ok := identity(element, keys[0], strategy.Defaults)
		if !ok {
			return ids, m.wrong(side, ErrNoKey, "it has no %q", keys[0])
		}
		m.at.Leave()
		if len(keys) > 1 {
			text = ids.join(text, element, strategy)
		}
		ids.texts[i] = text
	}
	return ids, nil
}

// join returns the text of the first key value, followed by those of the other key fields.
func (ids *identities) join(text string, object *node, strategy schema.Strategy) string {
	joined := make([]byte, 0, 32)
	joined = append(joined, text...)
	for _, key := range strategy.Keys[1:] {
		next, ok := identity(object, key, strategy.Defaults)
		ids.several = ids.several || ok
		ids.partial = ids.partial || !ok
		joined = append(append(joined, separator...), next...)
	}
	return string(joined)
}

// partners returns, for each identity, the index of the first element of live with that identity, or -1.
func (ids identities) partners(live identities) []int {
	partner := make([]int, len(ids.texts))
	find := func(text string) int { return slices.Index(live.texts, text) }
	if len(ids.texts) > jsonnode.Few {
		after := make(map[string]int, len(live.texts)) // the first one's index + 1
		for at := len(live.texts) - 1; at >= 0; at-- {
			after[live.texts[at]] = at + 1
		}
		find = func(text string) int { return after[text] - 1 }
	}
	for i, text := range ids.texts {
		partner[i] = find(text)
	}
	return partner
}

// pairing matches the elements of two keyed lists.
type pairing struct {
	// partner has, for each element of the manifest, the index of the matching element of live, or -1.
	partner []int
	// several reports whether elements are matched by more than one key field.
	several bool
}

// pair matches each element of the manifest with an element of live. If elements of one list share their key, all of the
// manifest's match the first of live's. Elements may lack any key field but the first: such an element matches an unmatched
// one that has the same values for the key fields that both have (kyaml: two ports with the same containerPort match if one
// of them lacks the protocol).
func (m *merger) pair(manifest, live *node, strategy schema.Strategy) (pairing, error) {
	from, err := m.identify(manifest, strategy, inManifest)
	if err != nil {
		return pairing{}, err
	}
	to, err := m.identify(live, strategy, inLive)
	if err != nil {
		return pairing{}, err
	}
	pairs := pairing{partner: from.partners(to), several: from.several || to.several}
	if pairs.several && (from.partial || to.partial) {
		pairs.matchPartial(from, to, len(strategy.Keys))
	}
	return pairs, nil
}

// unmatched returns the number of the manifest's elements without a partner.
func (p pairing) unmatched() (count int) {
	for _, at := range p.partner {
		if at < 0 {
			count++
		}
	}
	return count
}

// matchPartial matches the remaining elements, of which some lack a key field, each with the first that agrees.
func (p pairing) matchPartial(from, to identities, keys int) {
	left := remaining{
		texts: to.texts, taken: make([]bool, len(to.texts)), keys: keys,
		byShape: map[string][]int{}, byCommon: map[[2]string]map[string][]int{},
	}
	for _, at := range p.partner {
		if at >= 0 {
			left.taken[at] = true
		}
	}
	for at, text := range to.texts {
		if !left.taken[at] {
			has := shape(text, keys)
			left.byShape[has] = append(left.byShape[has], at)
		}
	}
	for i, text := range from.texts {
		if p.partner[i] < 0 {
			p.partner[i] = left.take(text)
		}
	}
}

// remaining are the elements of live that are not matched yet. Two identities agree if they are equal in the key fields that both
// have, which depend on the shapes of the two alone: there is an index for each pair of shapes.
type remaining struct {
	texts    []string
	taken    []bool
	keys     int // the number of key fields
	byShape  map[string][]int
	byCommon map[[2]string]map[string][]int
}

// take returns the first element that agrees with an identity, and takes it; -1 if there is none.
func (r *remaining) take(text string) int {
	first, own := len(r.texts), shape(text, r.keys)
	for other := range r.byShape {
		index, agreed := r.index(own, other), common(text, other, r.keys)
		candidates := index[agreed]
		for len(candidates) > 0 && r.taken[candidates[0]] {
			candidates = candidates[1:]
		}
		if index[agreed] = candidates; len(candidates) > 0 {
			first = min(first, candidates[0])
		}
	}
	if first == len(r.texts) {
		return -1
	}
	r.taken[first] = true
	return first
}

// index returns the elements of a shape by the key fields that elements of another shape have as well.
func (r *remaining) index(own, other string) map[string][]int {
	index, ok := r.byCommon[[2]string{own, other}]
	if !ok {
		index = map[string][]int{}
		for _, at := range r.byShape[other] {
			text := common(r.texts[at], own, r.keys)
			index[text] = append(index[text], at)
		}
		r.byCommon[[2]string{own, other}] = index
	}
	return index
}

// shape returns which key fields an identity has, as an identity with "+" for each.
func shape(text string, keys int) string {
	parts := strings.SplitN(text, separator, keys)
	for i, part := range parts {
		if part != "" {
			parts[i] = "+"
		}
	}
	return strings.Join(parts, separator)
}

// common returns an identity without the key fields that another one lacks.
func common(text, other string, keys int) string {
	parts := strings.SplitN(text, separator, keys)
	for i, part := range strings.SplitN(other, separator, keys) {
		if part == "" {
			parts[i] = ""
		}
	}
	return strings.Join(parts, separator)
}

// identity returns the text of an element's key field; ok is false if it is missing, empty or not a scalar. A number and a
// string with the same text are the same key, as in kyaml.
func identity(element *node, name string, defaults map[string]string) (string, bool) {
	key := element.Key(name, defaults)
	if key == nil || key.Kind == 'n' || key.IsContainer() {
		return "", false
	}
	text := textOf(key)
	return text, text != ""
}

// textOf returns a scalar as unquoted text.
func textOf(scalar *node) string {
	if scalar.Kind == '"' {
		return scalar.Unquoted()
	}
	return scalar.Text
}
