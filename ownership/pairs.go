package ownership

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Pair is what managedFields of live and of the incoming object have for the same manager's writes.
type Pair struct {
	Live, Incoming     Entry
	InLive, InIncoming bool
}

// Pairs matches the entries of live and of the incoming object (Entry.Same): first the incoming ones in their order, then
// those that the write has emptied. The time is linear in the number of entries.
func Pairs(live, incoming []Entry) []Pair {
	pairs := make([]Pair, 0, len(incoming)+1)
	before, after := indexOf(live), indexOf(incoming)
	for _, e := range incoming {
		was, ok := before.find(e)
		pairs = append(pairs, Pair{Live: was, Incoming: e, InLive: ok, InIncoming: true})
	}
	for _, e := range live {
		if _, ok := after.find(e); !ok {
			pairs = append(pairs, Pair{Live: e, InLive: true})
		}
	}
	return pairs
}

// ClaimsNothing reports whether the entry has no fields.
func (e Entry) ClaimsNothing() bool { return len(e.Fields) == 0 || string(e.Fields) == "{}" }

// SameClaims reports whether two lists of entries record the same claims but on one field, whatever their order and times.
func SameClaims(a, b []Entry, but fieldpath.Path) bool {
	for _, p := range Pairs(a, b) {
		same := p.InLive && p.InIncoming && p.Live.APIVersion == p.Incoming.APIVersion
		if same && bytes.Equal(p.Live.Fields, p.Incoming.Fields) {
			continue
		}
		if !same && p.InLive && p.InIncoming || !sameSets(p.Live, p.Incoming, but) {
			return false
		}
	}
	return true
}

// sameSets reports whether two entries claim the same but for one field.
func sameSets(a, b Entry, but fieldpath.Path) bool {
	if !a.Holds(but) && !b.Holds(but) {
		return false
	}
	left, errLeft := a.Set()
	right, errRight := b.Set()
	if errLeft != nil || errRight != nil {
		return false
	}
	parents := fieldpath.NewSet(but)
	for n := 1; n < len(but); n++ {
		parents.Insert(but[:n])
	}
	return left.Difference(parents).Equals(right.Difference(parents))
}

// InOrder returns the entries as the API server stores them.
func InOrder(entries []Entry) []Entry {
	return slices.SortedStableFunc(slices.Values(entries), CompareEntries)
}

// SameTexts reports whether two lists of entries are the same, text for text.
func SameTexts(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(a, b Entry) bool { return bytes.Equal(a.Text, b.Text) })
}

// EncodeEntries returns metadata.managedFields as JSON.
func EncodeEntries(entries []Entry) []byte {
	texts := make([][]byte, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]"))
}
