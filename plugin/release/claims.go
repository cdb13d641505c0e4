package release

import (
	"slices"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// move is what happens to the claims of one entry.
type move struct {
	entry ownership.Entry
	gains bool
	// paths are those among Paths that the claims are on; containers, where they are on none of these, what these are in.
	paths, containers []fieldpath.Path
}

// concernOf returns whether any of some moves concerns a path.
func concernOf(moves []move) func(fieldpath.Path) bool {
	paths, containers := map[string]bool{}, map[string]bool{}
	for _, m := range moves {
		for _, path := range m.paths {
			paths[path.String()] = true
		}
		for _, path := range m.containers {
			containers[path.String()] = true
		}
	}
	return func(path fieldpath.Path) bool {
		found := paths[path.String()]
		for n := 0; n <= len(path) && !found && len(containers) > 0; n++ {
			found = containers[path[:n].String()]
		}
		return found
	}
}

// speaks says whether an entry speaks for a manifest. Whoever claims the annotation does, for kubectl: the first
// kubectl apply --server-side takes such claims over as those of its manifest (client-go's csaupgrade).
func (p Plan) speaks(e ownership.Entry) bool {
	return e.Subresource == "" && (p.Context.Managers.IsApplier(e) ||
		e.Operation == ownership.OperationUpdate && e.Manager != WriterManager && e.Holds(ownership.LastAppliedPath()))
}

// release takes the claims on the paths out of the entries that speak for manifests, and gives those that nobody has then to
// a manager who applies no manifest.
func (p *Plan) release(now time.Time) error {
	released, others := fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range p.before {
		set, err := e.Set()
		if err != nil {
			return err
		}
		if !p.speaks(e) {
			others = others.Union(set)
			p.after = append(p.after, e)
			continue
		}
		claimed := beneath(set, p.Paths...)
		released = released.Union(claimed).Union(set.Intersection(p.containers(p.Paths)))
		if claimed.Empty() {
			p.after = append(p.after, e)
			continue
		}
		p.moves = append(p.moves, p.moved(e, claimed, false))
		if set = set.Difference(claimed); set.Empty() {
			continue
		}
		if e, err = e.WithSet(set); err != nil {
			return err
		}
		p.after = append(p.after, e)
	}
	return p.handOver(released.Difference(others), now)
}

// containers returns the objects that paths are in, up to an element of a list, of a kind that is not built in. There, where
// a schema need not name the fields, who lets go of the only claim on an object takes all that is in it along, whoever claims
// that.
func (p Plan) containers(paths []fieldpath.Path) *fieldpath.Set {
	set := fieldpath.NewSet()
	if scheme.Scheme.Recognizes(p.Kind) {
		return set
	}
	for _, path := range paths {
		for n := len(path) - 1; n > 0 && path[n-1].FieldName != nil && path[n].FieldName != nil; n-- {
			set.Insert(path[:n].Copy())
		}
	}
	return set
}

// handOver gives claims to those who are to hold them.
func (p *Plan) handOver(claims *fieldpath.Set, now time.Time) error {
	var held []fieldpath.Path
	others := p.othersFields()
	for _, path := range p.Paths {
		if others[path.String()] {
			held = append(held, path)
		}
	}
	toOwners := beneath(claims, held...).Union(claims.Intersection(p.containers(held)))
	like := ownership.Entry{APIVersion: p.Kind.GroupVersion().String(), Time: now.UTC().Format(time.RFC3339)}
	for _, to := range []struct {
		manager string
		claims  *fieldpath.Set
	}{{HandoverManager, toOwners}, {PersonManager, claims.Difference(toOwners)}} {
		if to.claims.Empty() {
			continue
		}
		entry, err := ownership.NewEntry(to.manager, like, to.claims)
		if err != nil {
			return err
		}
		p.moves = append(p.moves, p.moved(entry, to.claims, true))
		if p.after, err = withClaims(p.after, entry, to.claims); err != nil {
			return err
		}
	}
	return nil
}

// othersFields says of each field, and of each container, whether all of it is an autoscaler's or a controller's.
func (p Plan) othersFields() map[string]bool {
	all := map[string]bool{}
	for i := range p.Fields {
		f := &p.Fields[i]
		others := f.Owner == ownership.Autoscaler || f.Owner == ownership.Controller
		for n := range f.Path {
			name := f.Path[:n+1].String()
			before, known := all[name]
			all[name] = others && (before || !known)
		}
	}
	return all
}

// withClaims adds an entry with claims, or the claims to the entry that its manager has already. The entries are in the API
// server's order.
func withClaims(entries []ownership.Entry, entry ownership.Entry, claims *fieldpath.Set) ([]ownership.Entry, error) {
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
	entries[at], err = entries[at].WithSet(set.Union(claims))
	return entries, err
}

func (p Plan) moved(e ownership.Entry, claims *fieldpath.Set, gains bool) move {
	m := move{entry: e, gains: gains}
	for _, path := range p.Paths {
		if touches(claims, path) {
			m.paths = append(m.paths, path)
		}
	}
	if m.paths == nil {
		for path := range claims.All() {
			m.containers = append(m.containers, path.Copy())
		}
	}
	return m
}

// touches reports whether a set holds a path, or something beneath it.
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

// beneath returns what a set holds of paths and of the fields beneath them.
func beneath(set *fieldpath.Set, paths ...fieldpath.Path) *fieldpath.Set {
	return set.Difference(set.RecursiveDifference(fieldpath.NewSet(paths...)))
}
