package release

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// The field managers of released fields that no other manager has. Without a managedFields entry, server-side apply would delete
// a field together with its parent, and the API server would not record writes to it through /scale.
const (
	// ImperativeManager manages the fields that explain.HandoverManager does not. It counts as imperative, because a user decided to
	// keep the value.
	ImperativeManager = "kubectl-handoff"
	// WriterManager sends the patches. It manages the annotation temporarily, between the two, and must differ from
	// the other two: kubectl apply --server-side takes over all fields of a manager that manages the annotation, and deletes
	// those that are missing from its manifest.
	WriterManager = ImperativeManager + "-release"
)

// isApplier reports whether an entry belongs to a manager that applies a manifest. That includes every entry that contains the
// last-applied annotation: the first kubectl apply --server-side migrates such entries to its own (client-go's csaupgrade).
func (p Plan) isApplier(e ownership.Entry) bool {
	return e.Subresource == "" && (p.Subject.Context.Managers.IsApplier(e) ||
		e.Operation == managedfields.OperationUpdate && e.Manager != WriterManager && e.Contains(ownership.LastAppliedPath()))
}

// releaseEntries removes the paths from the entries of appliers. Paths that are then in no entry are transferred to a manager that
// applies no manifest.
func (p *Plan) releaseEntries(now time.Time) (err error) {
	if p.before, err = p.Subject.Object.Entries(); err != nil {
		return err
	}
	all, ancestors := fieldpath.NewSet(p.Paths...), p.untypedAncestors(p.Paths)
	released, others := fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range p.before {
		set, err := e.Set()
		if err != nil {
			return err
		}
		if !p.isApplier(e) {
			others = others.Union(set)
			p.after = append(p.after, e)
			continue
		}
		left := set.RecursiveDifference(all)
		removed := set.Difference(left)
		released = released.Union(removed).Union(set.Intersection(ancestors))
		if !removed.Empty() {
			p.move("-", e, removed)
			if e, err = e.WithSet(left); err != nil {
				return err
			}
		}
		if removed.Empty() || !left.Empty() {
			p.after = append(p.after, e)
		}
		if e.Operation == managedfields.OperationApply {
			p.declared = p.declared.Union(left)
		}
	}
	return p.handOver(released.Difference(others), now)
}

// handOver transfers paths to explain.HandoverManager, if autoscalers or controllers own them, or to ImperativeManager. A built-in
// kind's fields with such an owner stay without a manager: the schema declares them, so server-side apply does not delete them.
func (p *Plan) handOver(set *fieldpath.Set, now time.Time) error {
	owned := p.ownedByControllers()
	left := set.RecursiveDifference(fieldpath.NewSet(owned...)).Difference(p.untypedAncestors(owned))
	like := ownership.Entry{APIVersion: p.Subject.Kind.GroupVersion().String(), Time: now.UTC().Format(time.RFC3339)}
	for _, to := range []struct {
		manager string
		set     *fieldpath.Set
	}{{explain.HandoverManager, set.Difference(left)}, {ImperativeManager, left}} {
		if to.set.Empty() || to.manager == explain.HandoverManager && p.isBuiltin() {
			continue
		}
		entry, err := managedfields.New(to.manager, like, to.set)
		if err != nil {
			return err
		}
		p.move("+", entry, to.set)
		if p.after, err = withPaths(p.after, entry, to.set); err != nil {
			return err
		}
	}
	return nil
}

// move records that an entry gains or loses paths.
func (p *Plan) move(sign string, e ownership.Entry, set *fieldpath.Set) {
	var on []fieldpath.Path
	for _, path := range p.Paths {
		if e.Contains(path) {
			on = append(on, path)
			p.moved[path.String()] = true
		}
	}
	if on == nil { // only ancestors
		for path := range set.All() {
			on = append(on, path.Copy())
		}
		for _, path := range p.Paths {
			isUnder := func(ancestor fieldpath.Path) bool { return fieldpattern.HasPrefix(path, ancestor) }
			p.moved[path.String()] = p.moved[path.String()] || slices.ContainsFunc(on, isUnder)
		}
	}
	applies := ""
	if e.Operation == managedfields.OperationApply {
		applies = " (Apply)"
	}
	p.Diff = append(p.Diff, fmt.Sprintf("%s managed by %s%s: %s", sign, e.Manager, applies, Texts(on)))
}

// untypedAncestors returns the ancestors of paths, up to the nearest list element, for kinds that are not built in. Their schema
// need not declare the fields: when the last manager of an object there gives it up, server-side apply removes the object with
// all nested fields, even those that other managers have.
func (p Plan) untypedAncestors(paths []fieldpath.Path) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		for n := len(path) - 1; !p.isBuiltin() && n > 0 && path[n-1].FieldName != nil && path[n].FieldName != nil; n-- {
			set.Insert(path[:n].Copy())
		}
	}
	return set
}

func (p Plan) isBuiltin() bool { return scheme.Scheme.Recognizes(p.Subject.Kind) }

// ownedByControllers returns the Paths that autoscalers or controllers own completely.
func (p Plan) ownedByControllers() (owned []fieldpath.Path) {
	all := map[string]bool{} // of fields, and ancestors of fields
	for i := range p.fields {
		f := &p.fields[i]
		others := f.Owner.Kind == ownership.Autoscaler || f.Owner.Kind == ownership.Controller
		for n := range f.Path {
			name := f.Path[:n+1].String()
			before, known := all[name]
			all[name] = others && (before || !known)
		}
	}
	for _, path := range p.Paths {
		if all[path.String()] {
			owned = append(owned, path)
		}
	}
	return owned
}

// withPaths adds paths to the entry of a manager, or adds a new entry. The entries stay in the API server's order.
func withPaths(entries []ownership.Entry, entry ownership.Entry, paths *fieldpath.Set) ([]ownership.Entry, error) {
	at := slices.IndexFunc(entries, entry.Same)
	if at < 0 {
		entries = append(entries, entry)
		slices.SortStableFunc(entries, managedfields.Compare)
		return entries, nil
	}
	set, err := entries[at].Set()
	if err != nil {
		return nil, err
	}
	entries[at], err = entries[at].WithSet(set.Union(paths))
	return entries, err
}
