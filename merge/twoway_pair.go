package merge

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// pairing says which elements of two keyed lists are the same one.
type pairing struct {
	// partner has, for each element of source, the index of its element of destination, or -1.
	partner []int
	// several says that more than one key tells the elements apart.
	several bool
}

// pair finds destination's element for each of source's. Of several that share their keys in one list, destination's
// first is the partner of all of source's. An element can lack any key but the first: it is then the partner of one that
// says the same as far as both say anything, unless that has a partner of its own
// (kyaml: two ports of the same containerPort are one, when one of them lacks the protocol).
func pair(source, destination []any, keys []string) (pairing, error) {
	from, err := identify(source, keys, inSource)
	if err != nil {
		return pairing{}, err
	}
	to, err := identify(destination, keys, inDestination)
	if err != nil {
		return pairing{}, err
	}
	pairs := pairing{partner: make([]int, len(source)), several: from.several || to.several}
	first := make(map[string]int, len(source))
	for i := range source {
		pairs.partner[i] = -1
		if _, ok := first[from.texts[i]]; !ok {
			first[from.texts[i]] = i
		}
	}
	taken := make([]bool, len(destination))
	for at, text := range to.texts {
		if i, ok := first[text]; ok && pairs.partner[i] < 0 {
			pairs.partner[i], taken[at] = at, true
		}
	}
	for i, text := range from.texts {
		pairs.partner[i] = pairs.partner[first[text]]
	}
	if pairs.several && (from.partial || to.partial) {
		pairs.loosely(from, to, taken)
	}
	return pairs, nil
}

// loosely pairs the elements that are still alone and lack a key, or whose partner lacks one.
func (p pairing) loosely(from, to identities, taken []bool) {
	byFirst := make(map[string][]int)
	for at, text := range to.texts {
		if !taken[at] {
			head, _, _ := strings.Cut(text, separator)
			byFirst[head] = append(byFirst[head], at)
		}
	}
	for i, text := range from.texts {
		if p.partner[i] >= 0 {
			continue
		}
		head, _, _ := strings.Cut(text, separator)
		for _, at := range byFirst[head] {
			if !taken[at] && agree(text, to.texts[at]) {
				p.partner[i], taken[at] = at, true
				break
			}
		}
	}
}

// agree says whether two identities say the same as far as both say anything.
func agree(a, b string) bool {
	for a != "" || b != "" {
		var headA, headB string
		headA, a, _ = strings.Cut(a, separator)
		headB, b, _ = strings.Cut(b, separator)
		if headA != headB && headA != "" && headB != "" {
			return false
		}
	}
	return true
}

// separator stands between the parts of an identity. No key of Kubernetes holds it.
const separator = "\x00"

// identities are what tells the elements of a keyed list apart.
type identities struct {
	texts []string
	// several says that an element has more than the first key, and partial that another lacks one.
	several, partial bool
}

// identify returns the identities of a list's elements. Each has to be an object with the first of the keys; side names
// the list in the error.
func identify(list []any, keys []string, side string) (identities, error) {
	ids := identities{texts: make([]string, len(list))}
	if len(keys) == 0 {
		return ids, wrong(side, ErrNoKey, "the schema has none for the list")
	}
	for i, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			return ids, under(wrong(side, ErrWrongKind, "it is %s in a list of objects", kindName(element)), fieldpath.IndexElement(i))
		}
		text, ok := identity(object, keys[0])
		if !ok {
			return ids, under(wrong(side, ErrNoKey, "it has no %q", keys[0]), fieldpath.IndexElement(i))
		}
		if len(keys) > 1 {
			text = ids.join(text, object, keys[1:])
		}
		ids.texts[i] = text
	}
	return ids, nil
}

// join adds the other keys to the text of the first.
func (ids *identities) join(text string, object map[string]any, keys []string) string {
	parts := make([]string, 1, 1+len(keys))
	parts[0] = text
	for _, key := range keys {
		next, ok := identity(object, key)
		ids.several = ids.several || ok
		ids.partial = ids.partial || !ok
		parts = append(parts, next)
	}
	return strings.Join(parts, separator)
}
