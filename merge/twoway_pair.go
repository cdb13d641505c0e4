package merge

import "strings"

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
	find := from.finder()
	for i := range source {
		pairs.partner[i] = -1
	}
	for at, text := range to.texts {
		if i := find(text); i >= 0 && pairs.partner[i] < 0 {
			pairs.partner[i] = at
		}
	}
	for i, text := range from.texts {
		pairs.partner[i] = pairs.partner[find(text)]
	}
	if pairs.several && (from.partial || to.partial) {
		pairs.loosely(from, to)
	}
	return pairs, nil
}

// loosely pairs the elements that are still alone and lack a key, or whose partner lacks one.
func (p pairing) loosely(from, to identities) {
	taken, byFirst := make([]bool, len(to.texts)), make(map[string][]int)
	for _, at := range p.partner {
		if at >= 0 {
			taken[at] = true
		}
	}
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
