package managedfields

import (
	"bytes"
	"iter"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Pair is a managedFields entry in live and in the incoming object (Entry.Same).
type Pair struct {
	Live, Incoming Entry
	// InLive and InIncoming report whether the object has the entry.
	InLive, InIncoming bool
}

// Entry returns the incoming entry or, if the write has removed it, the one of live.
func (p Pair) Entry() Entry {
	if p.InIncoming {
		return p.Incoming
	}
	return p.Live
}

// Changed reports whether the write changes the entry's field set, adds the entry or removes it.
func (p Pair) Changed() bool {
	return !p.InLive || !p.InIncoming || !bytes.Equal(p.Live.Fields.Text(), p.Incoming.Fields.Text())
}

// Pairs pairs the managedFields entries of live and of the incoming object. It yields the incoming entries first, in their order,
// then the entries that only live has. The time is linear in the number of entries.
func Pairs(live, incoming []Entry) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		before, after := ByID(live), ByID(incoming)
		for _, e := range incoming {
			p := Pair{Incoming: e, InIncoming: true}
			if was := before[e.ID()]; was != nil {
				p.Live, p.InLive = *was, true
			}
			if !yield(p) {
				return
			}
		}
		for _, e := range live {
			if after[e.ID()] == nil && !yield(Pair{Live: e, InLive: true}) {
				return
			}
		}
	}
}

// SameFieldsBut reports whether two lists of entries have the same field sets, except for one field. The order and the times of
// the entries do not matter.
func SameFieldsBut(a, b []Entry, but fieldpath.Path) bool {
	for p := range Pairs(a, b) {
		isOtherVersion := p.InLive && p.InIncoming && p.Live.APIVersion != p.Incoming.APIVersion
		if isOtherVersion || p.Changed() && !sameSets(p.Live, p.Incoming, but) {
			return false
		}
	}
	return true
}

// sameSets reports whether the field sets of two entries differ in one field and its parents only.
func sameSets(a, b Entry, but fieldpath.Path) bool {
	if !a.Contains(but) && !b.Contains(but) {
		return false
	}
	left, errLeft := a.Set()
	right, errRight := b.Set()
	if errLeft != nil || errRight != nil {
		return false
	}
	parents := fieldpath.NewSet()
	for n := range but {
		parents.Insert(but[:n+1])
	}
	return left.Difference(parents).Equals(right.Difference(parents))
}

// InOrder returns the entries in the order in which the API server stores them.
func InOrder(entries []Entry) []Entry {
	return slices.SortedStableFunc(slices.Values(entries), Compare)
}

// Encode returns the entries as the JSON text of metadata.managedFields.
func Encode(entries []Entry) []byte {
	texts := make([][]byte, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]"))
}
