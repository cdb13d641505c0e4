package release

import (
	"slices"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// direction is whether an entry gains or loses paths.
type direction int

const (
	loses direction = iota
	gains
)

// move is the change of one managedFields entry.
type move struct {
	entry     ownership.Entry
	direction direction
	// paths are the Paths of the plan that the entry gains or loses. If there are none, ancestors are the ancestors that it does.
	paths, ancestors []fieldpath.Path
}

// affectedBy returns a function that reports whether any of the moves affects a path.
func affectedBy(moves []move) func(fieldpath.Path) bool {
	paths, ancestors := map[string]bool{}, map[string]bool{}
	for _, m := range moves {
		for _, path := range m.paths {
			paths[path.String()] = true
		}
		for _, path := range m.ancestors {
			ancestors[path.String()] = true
		}
	}
	return func(path fieldpath.Path) bool {
		found := paths[path.String()]
		for n := 0; n <= len(path) && !found && len(ancestors) > 0; n++ {
			found = ancestors[path[:n].String()]
		}
		return found
	}
}

// isApplier reports whether an entry belongs to a manager that applies a manifest. That includes every entry that contains the
// last-applied annotation: the first kubectl apply --server-side migrates such entries to its own (client-go's csaupgrade).
func (p Plan) isApplier(e ownership.Entry) bool {
	return e.Subresource == "" && (p.Subject.Context.Managers.IsApplier(e) ||
		e.Operation == ownership.OperationUpdate && e.Manager != WriterManager && e.Contains(ownership.LastAppliedPath()))
}

// records are an object's managedFields entries after a release, and how they change.
type records struct {
	entries []ownership.Entry
	moves   []move
}

// release returns the entries without the paths in those of appliers. Paths that are then in no entry are transferred to a
// manager that applies no manifest.
func (p Plan) release(now time.Time) (after records, err error) {
	released, others := fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range p.before {
		set, err := e.Set()
		if err != nil {
			return after, err
		}
		if !p.isApplier(e) {
			others = others.Union(set)
			after.entries = append(after.entries, e)
			continue
		}
		removed := nestedUnder(set, p.Paths...)
		released = released.Union(removed).Union(set.Intersection(p.untypedAncestors(p.Paths)))
		if removed.Empty() {
			after.entries = append(after.entries, e)
			continue
		}
		after.moves = append(after.moves, p.moved(e, removed, loses))
		if set = set.Difference(removed); set.Empty() {
			continue
		}
		if e, err = e.WithSet(set); err != nil {
			return after, err
		}
		after.entries = append(after.entries, e)
	}
	return p.handOver(after, released.Difference(others), now)
}

// untypedAncestors returns the ancestors of paths, up to the nearest list element, for kinds that are not built in. Their schema
// need not declare the fields: when the last manager of an object there gives it up, server-side apply removes the object with
// all nested fields, even those that other managers have.
func (p Plan) untypedAncestors(paths []fieldpath.Path) *fieldpath.Set {
	set := fieldpath.NewSet()
	if scheme.Scheme.Recognizes(p.Subject.Kind) {
		return set
	}
	for _, path := range paths {
		for n := len(path) - 1; n > 0 && path[n-1].FieldName != nil && path[n].FieldName != nil; n-- {
			set.Insert(path[:n].Copy())
		}
	}
	return set
}

// handOver returns the records with paths transferred to explain.HandoverManager or ImperativeManager. A built-in kind's fields
// that an autoscaler or a controller owns stay without a manager, as in the webhook: nothing removes them, and another manager
// would make a later apply that sets them a conflict.
func (p Plan) handOver(after records, set *fieldpath.Set, now time.Time) (records, error) {
	var owned []fieldpath.Path
	others := p.ownedByControllers()
	for _, path := range p.Paths {
		if others[path.String()] {
			owned = append(owned, path)
		}
	}
	toOwners := nestedUnder(set, owned...).Union(set.Intersection(p.untypedAncestors(owned)))
	like := ownership.Entry{APIVersion: p.Subject.Kind.GroupVersion().String(), Time: now.UTC().Format(time.RFC3339)}
	for _, to := range []struct {
		manager string
		set     *fieldpath.Set
	}{{explain.HandoverManager, toOwners}, {ImperativeManager, set.Difference(toOwners)}} {
		if to.set.Empty() || to.manager == explain.HandoverManager && scheme.Scheme.Recognizes(p.Subject.Kind) {
			continue
		}
		entry, err := ownership.NewEntry(to.manager, like, to.set)
		if err != nil {
			return after, err
		}
		after.moves = append(after.moves, p.moved(entry, to.set, gains))
		if after.entries, err = withPaths(after.entries, entry, to.set); err != nil {
			return after, err
		}
	}
	return after, nil
}

// ownedByControllers returns the fields, and ancestors of fields, that autoscalers or controllers own completely.
func (p Plan) ownedByControllers() map[string]bool {
	all := map[string]bool{}
	for i := range p.fields {
		f := &p.fields[i]
		others := f.Owner.Kind == ownership.Autoscaler || f.Owner.Kind == ownership.Controller
		for n := range f.Path {
			name := f.Path[:n+1].String()
			before, known := all[name]
			all[name] = others && (before || !known)
		}
	}
	return all
}

// withPaths adds paths to the entry of a manager, or adds a new entry. The entries stay in the API server's order.
func withPaths(entries []ownership.Entry, entry ownership.Entry, paths *fieldpath.Set) ([]ownership.Entry, error) {
	at := slices.IndexFunc(entries, entry.Same)
	if at < 0 {
		entries = append(entries, entry)
		slices.SortStableFunc(entries, ownership.CompareEntries)
		return entries, nil
	}
	set, err := entries[at].Set()
	if err != nil {
		return nil, err
	}
	entries[at], err = entries[at].WithSet(set.Union(paths))
	return entries, err
}

func (p Plan) moved(e ownership.Entry, set *fieldpath.Set, to direction) move {
	m := move{entry: e, direction: to}
	for _, path := range p.Paths {
		if touches(set, path) {
			m.paths = append(m.paths, path)
		}
	}
	if m.paths == nil {
		for path := range set.All() {
			m.ancestors = append(m.ancestors, path.Copy())
		}
	}
	return m
}

// touches reports whether a set contains a path, or one nested under it.
func touches(set *fieldpath.Set, path fieldpath.Path) bool {
	for i, element := range path {
		inner, more := set.Children.Get(element)
		if i == len(path)-1 && set.Members.Has(element) {
			return true
		}
		if !more {
			return false
		}
		set = inner
	}
	return !set.Empty()
}

// nestedUnder returns the part of a set that consists of paths and the fields nested under them.
func nestedUnder(set *fieldpath.Set, paths ...fieldpath.Path) *fieldpath.Set {
	return set.Difference(set.RecursiveDifference(fieldpath.NewSet(paths...)))
}
