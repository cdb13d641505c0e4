package release

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/ownership"
)

// left is what the records of a plan leave of the containers that fields are released from.
type left struct {
	before, after *jsonindex.Index // of the annotation; nil where there is none
	claims        []claimsLeft     // of server-side appliers
	known         map[string]state
}

// claimsLeft are what an applier claims before, and its set after.
type claimsLeft struct {
	entry ownership.Entry
	after *fieldpath.Set
}

// state is what is known about a container: whether a manifest has recorded it, and whether the annotation still has it.
// Claims are what appliers still claim of it.
type state struct {
	recorded, declared bool
	claims             []fieldpath.Path
}

func newLeft(p *Plan) *left {
	l := &left{known: map[string]state{}}
	if p.was != "" {
		l.before, l.after = jsonindex.New([]byte(p.was)), jsonindex.New([]byte(p.text))
	}
	for _, e := range p.before {
		if e.Operation != ownership.OperationApply || !p.speaks(e) {
			continue
		}
		now, _ := e.Find(p.after)
		set, err := now.Set()
		if err != nil {
			set = fieldpath.NewSet(fieldpath.Path{}) // Explanation has read it
		}
		l.claims = append(l.claims, claimsLeft{e, set})
	}
	return l
}

// emptied returns what goes from the manifest with a path: the outermost that holds nothing else of any manifest.
func (l *left) emptied(path fieldpath.Path) fieldpath.Path {
	n := len(path)
	for n > 1 && canGo(path[:n-1]) && l.nothingIn(path[:n-1], path) {
		n--
	}
	return path[:n]
}

// nothingIn reports whether no manifest declares anything in a container any more, but for what a path is in. What an
// applier claims by updates says nothing: it claims defaults as well.
func (l *left) nothingIn(container, path fieldpath.Path) bool {
	at := l.of(container)
	if at.declared || !at.recorded {
		return false
	}
	on := fieldpath.NewSet()
	for n := range path {
		on.Insert(path[:n+1])
	}
	return !slices.ContainsFunc(at.claims, func(claim fieldpath.Path) bool { return !on.Has(claim) })
}

func (l *left) of(container fieldpath.Path) state {
	name := container.String()
	if at, ok := l.known[name]; ok {
		return at
	}
	var at state
	if l.before != nil {
		at.recorded, at.declared = l.before.Value(container) != nil, l.after.Value(container) != nil
	}
	for _, c := range l.claims {
		if c.entry.Holds(container) {
			at.recorded = true
			for claim := range beneath(c.after, container).All() {
				at.claims = append(at.claims, claim.Copy())
			}
		}
	}
	l.known[name] = at
	return at
}
