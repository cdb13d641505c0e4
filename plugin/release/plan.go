package release

import (
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// The managers that claim a released field which nobody else claims: without a claim on it, server-side apply deletes it
// together with what it is in, and writes to it through /scale are not recorded.
const (
	// HandoverManager claims what an autoscaler or a controller owns, until that writes: as the webhook does.
	HandoverManager = merge.HandoverManager
	// PersonManager claims all else: whoever releases it keeps its value by a direct command.
	PersonManager = "kubectl-handoff"
	// WriterManager has to send the Patch of a plan. It claims the annotation for a moment, until Settle, and must not be one
	// of the two others: kubectl apply --server-side takes over the claims of whoever claims the annotation, and deletes what
	// its manifest lacks.
	WriterManager = PersonManager + "-release"
)

// Plan is what becomes of the records of an object.
type Plan struct {
	explain.Explanation
	// Paths are what was asked for: fields, or what holds some.
	Paths []fieldpath.Path
	// Released are those among Paths that a manifest declares.
	Released []fieldpath.Path
	// Delete is what is to be deleted from the manifest: for each of Released the path, or what it is in where nothing else
	// would be left in that. What is empty in a manifest is null, and null deletes.
	Delete []fieldpath.Path

	cuts          []cut
	was, text     string // the annotation
	before, after []ownership.Entry
	moves         []move
}

// Of plans the release of fields, which are named as explain takes them. Instead of a plan there can be refusals, each one
// line that says why and what to do. The time is that of claims that are handed over.
func Of(e explain.Explanation, fields []string, now time.Time) (Plan, []error) {
	if err := Reachable(e.Subject); err != nil {
		return Plan{}, []error{err}
	}
	var refusals []error
	var paths []fieldpath.Path
	live := jsonindex.New(e.Object.Text())
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
	p, err := planOf(e, outermost(paths), now)
	if err != nil {
		return Plan{}, []error{err}
	}
	if refusals := p.unsafe(now); refusals != nil {
		return Plan{}, refusals
	}
	return p, nil
}

func planOf(e explain.Explanation, paths []fieldpath.Path, now time.Time) (Plan, error) {
	p := Plan{Explanation: e, Paths: paths}
	var err error
	if p.before, err = e.Object.Entries(); err != nil {
		return p, err
	}
	p.was, _ = e.Object.LastApplied()
	p.cutAll()
	if err := p.release(now); err != nil {
		return p, err
	}
	p.Delete = p.summarize()
	return p, nil
}

// summarize notes what is released, and returns what is to be deleted.
func (p *Plan) summarize() []fieldpath.Path {
	var all []fieldpath.Path
	isCut := map[string]bool{}
	for _, c := range p.cuts {
		isCut[c.path.String()] = true
	}
	concern := concernOf(p.moves)
	left := newLeft(p)
	for _, path := range p.Paths {
		var in []fieldpath.Path
		for _, recorded := range p.recordedAs(path) {
			if isCut[recorded.String()] {
				in = append(in, left.emptied(recorded))
			}
		}
		if in == nil && concern(path) {
			in = []fieldpath.Path{left.emptied(path)}
		}
		if in != nil {
			p.Released = append(p.Released, path)
		}
		all = append(all, in...)
	}
	return outermost(all)
}

// Unchanged says that there is nothing to write: no manifest declares any of the fields.
func (p Plan) Unchanged() bool { return p.was == p.text && len(p.moves) == 0 }

// outermost leaves the paths that are not within others.
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

func hasPrefix(path, prefix fieldpath.Path) bool {
	return len(prefix) <= len(path) && path[:len(prefix)].Equals(prefix)
}
