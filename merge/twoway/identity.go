package twoway

import (
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// separator separates the key values in an identity. Kubernetes keys do not contain it.
const separator = "\x00"

// identities are the key values by which the elements of a keyed list are matched, "" for a key field that an element lacks.
type identities struct {
	keys [][]string
	// several reports whether an element has a key field besides the first, partial whether an element lacks one.
	several, partial bool
}

// identify returns the identities of a list's elements. Each element must be an object with the first key field. side is
// the name of the input, for the error.
func (m *merger) identify(list *node, strategy schema.Strategy, side string) (ids identities, err error) {
	count := len(strategy.Keys)
	if count == 0 {
		return ids, m.at.Wrong(side, ErrNoKey, "the schema declares no key for the list")
	}
	ids.keys = make([][]string, len(list.Children))
	all := make([]string, len(list.Children)*count)
	for i := range list.Children {
		element, keys := &list.Children[i].Node, all[i*count:(i+1)*count]
		m.at.Enter(step{IsIndex: true, Index: i})
		if element.Kind != '{' {
			return ids, m.at.Wrong(side, ErrWrongKind, "it is %s in a list of objects", element.Describe())
		}
		for at, name := range strategy.Keys {
			keys[at] = identity(element, name, strategy.Defaults)
		}
		if keys[0] == "" {
			return ids, m.at.Wrong(side, ErrNoKey, "it has no %q", strategy.Keys[0])
		}
		m.at.Leave()
		has := func(key string) bool { return key != "" }
		ids.several = ids.several || slices.ContainsFunc(keys[1:], has)
		ids.partial = ids.partial || slices.Contains(keys, "")
		ids.keys[i] = keys
	}
	return ids, nil
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
	first := make(map[string]int, len(to.keys))
	for at, keys := range slices.Backward(to.keys) {
		first[strings.Join(keys, separator)] = at
	}
	partner, taken := make([]int, len(from.keys)), make([]bool, len(to.keys))
	for i, keys := range from.keys {
		at, ok := first[strings.Join(keys, separator)]
		if partner[i] = -1; ok {
			partner[i], taken[at] = at, true
		}
	}
	if from.partial || to.partial {
		matchPartial(partner, taken, from.keys, to.keys)
	}
	return pairing{partner: partner, several: from.several || to.several}, nil
}

// matchPartial matches the remaining elements, of which some lack a key field, each with the first that agrees.
func matchPartial(partner []int, taken []bool, from, to [][]string) {
	for i, keys := range from {
		for at := 0; at < len(to) && partner[i] < 0; at++ {
			if !taken[at] && agree(keys, to[at]) {
				partner[i], taken[at] = at, true
			}
		}
	}
}

// agree reports whether two identities are equal in the key fields that both have.
func agree(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] && a[i] != "" && b[i] != "" {
			return false
		}
	}
	return true
}

// identity returns the text of an element's key field; empty if it is missing or not a scalar. A number and a string with the same
// text are the same key, as in kyaml.
func identity(element *node, name string, defaults map[string]string) string {
	key := element.Key(name, defaults)
	if key == nil || key.Kind == 'n' || key.IsContainer() {
		return ""
	}
	return textOf(key)
}

// textOf returns a scalar as unquoted text.
func textOf(scalar *node) string {
	if scalar.Kind == '"' {
		return scalar.Unquoted()
	}
	return scalar.Text
}
