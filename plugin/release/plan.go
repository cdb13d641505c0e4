package release

import (
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// The field managers of released fields that no other manager has. Without a managedFields entry, server-side apply would delete
// a field together with its parent, and the API server would not record writes to it through /scale.
const (
	// ImperativeManager manages the fields that explain.HandoverManager does not. It counts as imperative, because a user decided to
	// keep the value.
	ImperativeManager = "kubectl-handoff"
	// WriterManager has to send the Patch of a plan. It manages the annotation temporarily, until Settle, and must differ from
	// the other two: kubectl apply --server-side takes over all fields of a manager that manages the annotation, and deletes
	// those that are missing from its manifest.
	WriterManager = ImperativeManager + "-release"
)

// Plan is a planned change of an object's records.
type Plan struct {
	// Subject is the object.
	Subject source.Subject
	// Paths are the requested fields, or ancestors of fields.
	Paths []fieldpath.Path
	// Released are the Paths that a manifest declares.
	Released []fieldpath.Path
	// Delete are the paths to remove from the manifest: for each of Released the path itself, or the outermost ancestor that
	// would become empty. An empty value in a YAML manifest is null, and null deletes the field.
	Delete []fieldpath.Path

	fields        ownership.Fields // all fields of the object
	cuts          []cut
	was, text     string // the annotation
	before, after []ownership.Entry
	moves         []move
}

// Of plans the release of fields, given as FIELD arguments of explain. If it cannot, it returns errors, each one line with a
// reason and a remedy. Now is the time of new managedFields entries.
func Of(e explain.Explanation, fields []string, now time.Time) (Plan, []error) {
	if err := Reachable(e.Subject); err != nil {
		return Plan{}, []error{err}
	}
	var refusals []error
	var paths []fieldpath.Path
	live := jsontree.Valid(e.Subject.Object.Text())
	for _, field := range fields {
		named, err := named(e, live, field)
		if err != nil {
			refusals = append(refusals, err)
		}
		paths = append(paths, named...)
	}
	if refusals != nil {
		return Plan{}, refusals
	}
	p, err := planOf(e.Subject, e.Fields, outermost(paths), now)
	if err != nil {
		return Plan{}, []error{err}
	}
	if refusals := p.unsafe(now); refusals != nil {
		return Plan{}, refusals
	}
	return p, nil
}

func planOf(s source.Subject, fields ownership.Fields, paths []fieldpath.Path, now time.Time) (Plan, error) {
	p := Plan{Subject: s, Paths: paths, fields: fields}
	var err error
	if p.before, err = s.Object.Entries(); err != nil {
		return p, err
	}
	p.was, _ = s.Object.LastApplied()
	p.cutAll()
	after, err := p.release(now)
	if err != nil {
		return p, err
	}
	p.after, p.moves = after.entries, after.moves
	p.Delete = p.summarize()
	return p, nil
}

// summarize sets Released, and returns the paths to remove from the manifest.
func (p *Plan) summarize() []fieldpath.Path {
	var all []fieldpath.Path
	isCut := map[string]bool{}
	for _, c := range p.cuts {
		isCut[c.path.String()] = true
	}
	affected := affectedBy(p.moves)
	left := newLeft(p)
	for _, path := range p.Paths {
		var in []fieldpath.Path
		for _, recorded := range p.recordedAs(path) {
			if isCut[recorded.String()] {
				in = append(in, left.emptied(recorded))
			}
		}
		if in == nil && affected(path) {
			in = []fieldpath.Path{left.emptied(path)}
		}
		if in != nil {
			p.Released = append(p.Released, path)
		}
		all = append(all, in...)
	}
	return outermost(all)
}

// Unchanged reports whether there is nothing to write, because no manifest declares any of the fields.
func (p Plan) Unchanged() bool { return p.was == p.text && len(p.moves) == 0 }

// outermost returns the paths that are not nested under others, without duplicates.
func outermost(paths []fieldpath.Path) []fieldpath.Path {
	listed, taken := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		listed[path.String()] = true
	}
	var left []fieldpath.Path
	for _, path := range paths {
		within := taken[path.String()]
		for n := 1; n < len(path) && !within; n++ {
			within = listed[path[:n].String()]
		}
		if !within {
			left = append(left, path)
			taken[path.String()] = true
		}
	}
	return left
}
