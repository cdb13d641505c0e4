package merge

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

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

// few is up to how many elements are looked through rather than indexed.
const few = 8

// finder returns a function that returns the index of the first element of an identity, or -1.
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
