package release

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// left returns the ancestors of released fields that remain in the records of a plan.
type left struct {
	before, after *jsontree.Node // of the annotation; nil if there is none
	entries       []entryLeft    // of server-side appliers
	known         map[string]state
}

// entryLeft is an applier's entry before the release, and its field set after it.
type entryLeft struct {
	entry ownership.Entry
	after *fieldpath.Set
}

// state is the state of an ancestor: whether a manifest recorded it, and whether the annotation still declares it. Managed
// are the paths nested under it that appliers still manage.
type state struct {
	recorded, declared bool
	managed            []fieldpath.Path
}

func newLeft(p *Plan) *left {
	l := &left{known: map[string]state{}}
	if p.was != "" {
		l.before, l.after = jsontree.Valid([]byte(p.was)), jsontree.Valid([]byte(p.text))
	}
	for _, e := range p.before {
		if e.Operation != ownership.OperationApply || !p.isApplier(e) {
			continue
		}
		now, _ := e.Find(p.after)
		set, err := now.Set()
		if err != nil {
			set = fieldpath.NewSet(fieldpath.Path{}) // cannot fail: the explanation has parsed the set
		}
		l.entries = append(l.entries, entryLeft{e, set})
	}
	return l
}

// emptied returns the path to remove from the manifest: the outermost ancestor that contains nothing else of any manifest.
func (l *left) emptied(path fieldpath.Path) fieldpath.Path {
	n := len(path)
	for n > 1 && removableIfEmpty(path[:n-1]) && l.isEmpty(path[:n-1], path) {
		n--
	}
	return path[:n]
}

// isEmpty reports whether no manifest still declares anything in an ancestor of a path, apart from the path's ancestors. Entries
// of client-side appliers do not count, because they contain defaults.
func (l *left) isEmpty(ancestor, path fieldpath.Path) bool {
	at := l.of(ancestor)
	if at.declared || !at.recorded {
		return false
	}
	on := fieldpath.NewSet()
	for n := range path {
		on.Insert(path[:n+1])
	}
	return !slices.ContainsFunc(at.managed, func(managed fieldpath.Path) bool { return !on.Has(managed) })
}

func (l *left) of(ancestor fieldpath.Path) state {
	name := ancestor.String()
	if at, ok := l.known[name]; ok {
		return at
	}
	var at state
	if l.before != nil {
		at.recorded, at.declared = l.before.Find(ancestor) != nil, l.after.Find(ancestor) != nil
	}
	for _, e := range l.entries {
		if e.entry.Contains(ancestor) {
			at.recorded = true
			for managed := range nestedUnder(e.after, ancestor).All() {
				at.managed = append(at.managed, managed.Copy())
			}
		}
	}
	l.known[name] = at
	return at
}
