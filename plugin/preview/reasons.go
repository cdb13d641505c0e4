package preview

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/ownership"
)

// reasons returns a function that returns why a field changes, according to the manifests. It is equivalent to
// ownership.Manifests, but indexes the records once for any number of fields.
func (t *trial) reasons(with ownership.Object) (func(path fieldpath.Path, stays bool) string, error) {
	claims := lastAppliedClaims
	if t.options.ServerSide {
		claims = t.managedClaims
	}
	manifest, base, err := claims(t.Object, with)
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

// claimFunc returns what a manifest declares about a path.
type claimFunc func(fieldpath.Path) ownership.Declaration

// lastAppliedClaims returns the claims of the incoming and of the live object's last-applied annotation.
func lastAppliedClaims(live, with ownership.Object) (manifest, base claimFunc, err error) {
	in := func(o ownership.Object) claimFunc {
		text, ok := o.LastApplied()
		if !ok {
			return func(fieldpath.Path) ownership.Declaration { return ownership.Lacks }
		}
		index := jsonindex.New([]byte(text))
		return func(path fieldpath.Path) ownership.Declaration {
			for n := len(path); n > 0; n-- { // null also clears nested fields
				switch value := index.Value(path[:n]); {
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

// managedClaims returns the claims of the applier's managedFields entries, after and before the apply.
func (t *trial) managedClaims(live, with ownership.Object) (manifest, base claimFunc, err error) {
	before, err := live.Entries()
	if err != nil {
		return nil, nil, err
	}
	after, err := with.Entries(before...)
	if err != nil {
		return nil, nil, err
	}
	author := t.options.Managers.Sender(t.options.manager(), before, after)
	was, _ := author.Entry.Find(before)
	sets := [2]claimFunc{}
	for i, e := range []ownership.Entry{author.Entry, was} {
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
