package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldWalk goes through a live object, its last-applied annotation and the sets of its managedFields side by side.
type fieldWalk struct {
	ObjectContext
	entries []Entry
	authors []bool         // which entries are of the applier that the last-applied annotation is from
	path    fieldpath.Path // to the spot that is visited
	found   Fields
}

// spot is a place in the object and what is known about it.
type spot struct {
	live     *outline       // nil where claims lead nowhere
	declared *outline       // in the last-applied annotation, nil where that has nothing
	holders  []int          // the entries that claim the spot itself
	beneath  []claims       // what entries claim beneath it
	aside    *fieldpath.Set // what is left out beneath it
}

type claims struct {
	entry int
	set   *fieldpath.Set
}

// innermost says whether the spot is a field, and no container of some. What holds something that is left out is never
// taken as a whole.
func (s spot) innermost() bool {
	switch {
	case s.live == nil:
		return len(s.beneath) == 0
	case len(s.live.kids) == 0:
		return true
	default:
		return len(s.holders) > 0 && len(s.beneath) == 0 && s.aside == nil
	}
}

// visit lists the fields of a spot: its own parts in their order, then the claims that lead nowhere.
func (w *fieldWalk) visit(s spot) {
	names := s.claimed()
	naming := namingOf(names)
	declared := naming.in(s.declared)
	reached := make([]bool, len(names))
	switch {
	case len(w.path) > 0 && s.innermost():
		w.found = append(w.found, w.field(s))
	case s.live != nil:
		for i := range s.live.kids {
			kid := &s.live.kids[i]
			aliases := []fieldpath.PathElement{fieldpath.FieldNameElement(kid.name)}
			if !s.live.isObject() {
				aliases = naming.aliases(kid, i)
			}
			name, claimed := reach(names, reached, aliases)
			w.step(s, spot{live: kid, declared: declared.of(kid, aliases)}, name, claimed)
		}
	}
	for i, name := range names {
		if !reached[i] {
			w.step(s, spot{declared: declared.find(name)}, name, names[i:i+1])
		}
	}
}

// claimed returns the names that claims use beneath the spot, in order and each once.
func (s spot) claimed() (names []fieldpath.PathElement) {
	for _, c := range s.beneath {
		names = slices.AppendSeq(names, c.set.Members.All())
		names = slices.AppendSeq(names, c.set.Children.All())
	}
	slices.SortFunc(names, fieldpath.PathElement.Compare)
	return slices.CompactFunc(names, fieldpath.PathElement.Equals)
}

// reach notes which of the claimed names a part has and returns them, and the one that its path gets: the first that no
// part before it has got, else its own last alias. Parts can share a key: the API server takes lists that have one twice.
func reach(names []fieldpath.PathElement, reached []bool, aliases []fieldpath.PathElement) (
	name fieldpath.PathElement, claimed []fieldpath.PathElement,
) {
	name = aliases[len(aliases)-1]
	named := false
	for _, alias := range aliases {
		i, ok := slices.BinarySearchFunc(names, alias, fieldpath.PathElement.Compare)
		if !ok {
			continue
		}
		claimed = append(claimed, names[i])
		if !reached[i] && !named {
			name, named = names[i], true
		}
		reached[i] = true
	}
	return name, claimed
}

// step visits a part of a spot: name is for its path, claimed are the names that claims use for it.
func (w *fieldWalk) step(from, to spot, name fieldpath.PathElement, claimed []fieldpath.PathElement) {
	if from.aside != nil {
		if from.aside.Members.Has(name) {
			return
		}
		to.aside, _ = from.aside.Children.Get(name)
	}
	for _, c := range from.beneath {
		for _, name := range claimed {
			if c.set.Members.Has(name) && !slices.Contains(to.holders, c.entry) {
				to.holders = append(to.holders, c.entry)
			}
			if set, ok := c.set.Children.Get(name); ok {
				to.beneath = append(to.beneath, claims{entry: c.entry, set: set})
			}
		}
	}
	w.path = append(w.path, name)
	w.visit(to)
	w.path = w.path[:len(w.path)-1]
}
