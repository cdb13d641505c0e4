package twoway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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
func identify(list []any, keys []string, side string) (identities, error) {
	ids := identities{texts: make([]string, len(list))}
	if len(keys) == 0 {
		return ids, wrong(side, ErrNoKey, "the schema declares no key for the list")
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

// join returns the text of the first key value, followed by those of the other key fields.
func (ids *identities) join(text string, object map[string]any, keys []string) string {
	joined := make([]byte, 0, 32)
	joined = append(joined, text...)
	for _, key := range keys {
		next, ok := identity(object, key)
		ids.several = ids.several || ok
		ids.partial = ids.partial || !ok
		joined = append(append(joined, separator...), next...)
	}
	return string(joined)
}

// few is the maximum number of elements that are searched without an index.
const few = 8

// finder returns a function that returns the index of the first element with an identity, -1 if there is none.
func (ids identities) finder() func(text string) int {
	if len(ids.texts) <= few {
		return func(text string) int { return slices.Index(ids.texts, text) }
	}
	first := make(map[string]int, len(ids.texts))
	for i, text := range ids.texts {
		if _, twice := first[text]; !twice {
			first[text] = i
		}
	}
	return func(text string) int {
		if i, ok := first[text]; ok {
			return i
		}
		return -1
	}
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
func pair(manifest, live []any, keys []string) (pairing, error) {
	from, err := identify(manifest, keys, inManifest)
	if err != nil {
		return pairing{}, err
	}
	to, err := identify(live, keys, inLive)
	if err != nil {
		return pairing{}, err
	}
	pairs := pairing{partner: make([]int, len(manifest)), several: from.several || to.several}
	find := from.finder()
	for i := range manifest {
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
		pairs.matchPartial(from, to)
	}
	return pairs, nil
}

// matchPartial matches the remaining elements if one of the two lacks a key field.
func (p pairing) matchPartial(from, to identities) {
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

// agree reports whether two identities have the same values for the key fields that both have.
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

// identity returns the text of an element's key field; ok is false if it is missing, empty or not a scalar. A number and a
// string with the same text are the same key, as in kyaml.
func identity(object map[string]any, key string) (string, bool) {
	switch value := opened(object[key], nil).(type) {
	case nil, map[string]any, []any, rawJSON:
		return "", false
	case string:
		return value, value != ""
	default:
		text := textOf(value)
		return text, text != ""
	}
}

// textOf returns a scalar as unquoted YAML text.
func textOf(scalar any) string {
	switch v := scalar.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int64:
		return strconv.FormatInt(v, 10)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return fmt.Sprint(v)
	}
}

// plain returns a scalar in a type that a fieldpath.Path supports.
func plain(scalar any) any {
	number, ok := scalar.(json.Number)
	if !ok {
		return scalar
	}
	if whole, err := number.Int64(); err == nil {
		return whole
	}
	if fraction, err := number.Float64(); err == nil {
		return fraction
	}
	return number.String()
}

// checkScalar returns ErrWrongKind unless a value is a scalar of decoded JSON.
func checkScalar(value any) error {
	switch value.(type) {
	case string, bool, json.Number, float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return nil
	default:
		return wrong(inManifest, ErrWrongKind, "%T is not a decoded JSON type", value)
	}
}

// kindName returns the name of a value's kind, for an error.
func kindName(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case rawJSON:
		if v[0] == '{' {
			return "an object"
		}
		return "a list"
	default:
		return "a scalar"
	}
}
