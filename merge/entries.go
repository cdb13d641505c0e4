package merge

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// beneath returns what a set holds of paths and of the fields beneath them.
func beneath(set *fieldpath.Set, paths ...fieldpath.Path) *fieldpath.Set {
	return set.Difference(set.RecursiveDifference(fieldpath.NewSet(paths...)))
}

func claimed(entries []ownership.Entry, path fieldpath.Path) bool {
	return slices.ContainsFunc(entries, func(e ownership.Entry) bool { return e.Holds(path) })
}

func claimsNothing(e ownership.Entry) bool {
	return len(e.Fields) == 0 || string(e.Fields) == "{}"
}

// sameClaims says whether two lists of entries record the same claims, whatever their order and times.
func sameClaims(a, b []ownership.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for _, e := range a {
		other, ok := e.Find(b)
		if !ok || other.APIVersion != e.APIVersion || !bytes.Equal(other.Fields, e.Fields) {
			return false
		}
	}
	return true
}

// inOrder returns the entries as the API server stores them.
func inOrder(entries []ownership.Entry) []ownership.Entry {
	return slices.SortedStableFunc(slices.Values(entries), ownership.CompareEntries)
}

func sameTexts(a, b []ownership.Entry) bool {
	return slices.EqualFunc(a, b, func(a, b ownership.Entry) bool { return bytes.Equal(a.Text, b.Text) })
}

func encodeEntries(entries []ownership.Entry) []byte {
	texts := make([][]byte, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]"))
}
