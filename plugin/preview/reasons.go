package preview

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/ownership"
)

// reasons returns why fields change: what the manifests say. It answers as ownership.Manifests does, for any number of fields.
func (t *trial) reasons(with ownership.Object) (func(path fieldpath.Path, stays bool) string, error) {
	says := recorded
	if t.options.ServerSide {
		says = t.claimed
	}
	manifest, base, err := says(t.Object, with)
	if err != nil {
		return nil, err
	}
	return func(path fieldpath.Path, stays bool) string {
		switch now := manifest(path); {
		case now == ownership.Sets && stays: // kubectl records annotations, be they empty
			return "the manifest sets it"
		case now == ownership.Clears:
			return "the manifest clears it"
		case base(path) == ownership.Sets:
			return "the manifest has let go of it"
		default:
			return "the API server sets it, or another webhook"
		}
	}, nil
}

type says func(fieldpath.Path) ownership.Claim

// recorded returns what the last-applied annotations say, of the object with the apply and of live.
func recorded(live, with ownership.Object) (manifest, base says, err error) {
	in := func(o ownership.Object) says {
		text, ok := o.LastApplied()
		if !ok {
			return func(fieldpath.Path) ownership.Claim { return ownership.Lacks }
		}
		index := jsonindex.New([]byte(text))
		return func(path fieldpath.Path) ownership.Claim {
			for n := len(path); n > 0; n-- { // null clears what is in it as well
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

// claimed returns what the applier's own entries claim.
func (t *trial) claimed(live, with ownership.Object) (manifest, base says, err error) {
	before, err := live.Entries()
	if err != nil {
		return nil, nil, err
	}
	after, err := with.Entries(before...)
	if err != nil {
		return nil, nil, err
	}
	author := t.options.Managers.Author(t.options.manager(), before, after)
	was, _ := author.Entry.Find(before)
	sets := [2]says{}
	for i, e := range []ownership.Entry{author.Entry, was} {
		set, err := e.Set()
		if err != nil {
			return nil, nil, err
		}
		sets[i] = func(path fieldpath.Path) ownership.Claim {
			if set.Has(path) {
				return ownership.Sets
			}
			return ownership.Lacks
		}
	}
	return sets[0], sets[1], nil
}
