package release

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
	all := fieldpath.NewSet(p.Paths...)
	ancestors := p.untypedAncestors(all)
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
			p.Diff = append(p.Diff, p.line("-", e, removed))
			if e, err = e.WithSet(left); err != nil {
				return err
			}
		}
		if removed.Empty() || !left.Empty() {
			p.after = append(p.after, e)
		}
	}
	return p.transfer(released.Difference(others), now)
}

// transfer gives paths to explain.HandoverManager, if autoscalers or controllers own them, or to ImperativeManager. A built-in
// kind's fields with such an owner stay without a manager: the schema declares them, so server-side apply does not delete them.
func (p *Plan) transfer(set *fieldpath.Set, now time.Time) error {
	owned := p.ownedByControllers()
	left := set.RecursiveDifference(owned).Difference(p.untypedAncestors(owned))
	p.transferred = set
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
		p.Diff = append(p.Diff, p.line("+", entry, to.set))
		if p.after, err = withPaths(p.after, entry, to.set); err != nil {
			return err
		}
	}
	return nil
}

// line says that an entry gains or loses paths: those of the Paths, or only ancestors of them.
func (p Plan) line(sign string, e ownership.Entry, set *fieldpath.Set) string {
	on := slices.DeleteFunc(slices.Clone(p.Paths), func(path fieldpath.Path) bool { return !e.Contains(path) })
	if len(on) == 0 {
		for path := range set.All() {
			on = append(on, path.Copy())
		}
	}
	applies := ""
	if e.Operation == managedfields.OperationApply {
		applies = " (Apply)"
	}
	return fmt.Sprintf("%s managed by %s%s: %s", sign, e.Manager, applies, Texts(on))
}

// leavesEntries reports whether an applier managed a path, or an ancestor that another manager gets.
func (p Plan) leavesEntries(path fieldpath.Path) bool {
	leaves := slices.ContainsFunc(p.before, func(e ownership.Entry) bool { return p.isApplier(e) && e.Contains(path) })
	for n := 1; n < len(path) && !leaves; n++ {
		leaves = p.transferred.Has(path[:n])
	}
	return leaves
}

// untypedAncestors returns the ancestors of paths, up to the nearest list element, for kinds that are not built in. Their schema
// need not declare the fields: when the last manager of an object there gives it up, server-side apply removes the object with
// all nested fields, even those that other managers have.
func (p Plan) untypedAncestors(paths *fieldpath.Set) *fieldpath.Set {
	set := fieldpath.NewSet()
	if p.isBuiltin() {
		return set
	}
	for path := range paths.All() {
		for n := len(path) - 1; n > 0 && path[n-1].FieldName != nil && path[n].FieldName != nil; n-- {
			set.Insert(path[:n].Copy())
		}
	}
	return set
}

func (p Plan) isBuiltin() bool { return scheme.Scheme.Recognizes(p.Subject.Kind) }

// ownedByControllers returns the Paths that autoscalers or controllers own completely.
func (p Plan) ownedByControllers() *fieldpath.Set {
	all, shared := fieldpath.NewSet(p.Paths...), fieldpath.NewSet()
	for i := range p.Fields {
		f := &p.Fields[i]
		if f.Owner.Kind == ownership.Autoscaler || f.Owner.Kind == ownership.Controller {
			continue
		}
		for n := range f.Path {
			if path := f.Path[:n+1]; all.Has(path) {
				shared.Insert(path)
			}
		}
	}
	return all.Difference(shared)
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
