package preview

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// reasons returns a function that returns why a field changes, according to the manifests. It is equivalent to
// ownership.Manifests, but indexes the records once for any number of fields.
func (t *trial) reasons(with ownership.Object) (func(path fieldpath.Path, stays bool) string, error) {
	declarations := inLastApplied
	if t.options.ServerSide {
		declarations = t.inManagedFields
	}
	manifest, base, err := declarations(t.subject.Object, with)
	if err != nil {
		return nil, err
	}
	return func(path fieldpath.Path, stays bool) string {
		switch now := manifest(path); {
		case now == ownership.Sets && stays: // kubectl records annotations even if they are empty
			return "set by the manifest"
		case now == ownership.Clears:
			return "cleared by the manifest"
		case base(path) == ownership.Sets:
			return "removed from the manifest"
		default:
			return "set by the API server or another webhook"
		}
	}, nil
}

// declarationFunc returns what a manifest declares about a path.
type declarationFunc func(fieldpath.Path) ownership.Declaration

// inLastApplied returns the declarations of the incoming and of the live object's last-applied annotation.
func inLastApplied(live, with ownership.Object) (manifest, base declarationFunc, err error) {
	in := func(o ownership.Object) declarationFunc {
		text, ok := o.LastApplied()
		if !ok {
			return func(fieldpath.Path) ownership.Declaration { return ownership.Lacks }
		}
		index := jsontree.Valid([]byte(text))
		return func(path fieldpath.Path) ownership.Declaration {
			for n := len(path); n > 0; n-- { // null also clears nested fields
				switch value := index.Find(path[:n]).Text(); {
				case string(value) == "null":
					return ownership.Clears
				case value != nil && n == len(path):
					return ownership.Sets
				case value != nil:
					return ownership.Lacks
				}
			}
			return ownership.Lacks
		}
	}
	return in(with), in(live), nil
}

// inManagedFields returns the declarations of the applier's managedFields entries, after and before the apply.
func (t *trial) inManagedFields(live, with ownership.Object) (manifest, base declarationFunc, err error) {
	before, err := live.Entries()
	if err != nil {
		return nil, nil, err
	}
	after, err := with.Entries()
	if err != nil {
		return nil, nil, err
	}
	write := ownership.Write{
		Live: live, Incoming: with, LiveEntries: before, IncomingEntries: after, Managers: t.subject.Context.Managers,
	}
	sender := write.SentBy(t.options.manager())
	was, _ := sender.Entry.Find(before)
	sets := [2]declarationFunc{}
	for i, e := range []ownership.Entry{sender.Entry, was} {
		set, err := e.Set()
		if err != nil {
			return nil, nil, err
		}
		sets[i] = func(path fieldpath.Path) ownership.Declaration {
			if set.Has(path) {
				return ownership.Sets
			}
			return ownership.Lacks
		}
	}
	return sets[0], sets[1], nil
}
