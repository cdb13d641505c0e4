// Package release plans how to stop managing fields through the manifest that an object was applied from, so that the next
// apply of the manifest without them does not change them. It follows the documented procedures for changing the ownership of
// a field to an imperative writer (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/), and for
// transferring it between managers
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
//
// Two records say that a manifest declares a field: the last-applied annotation, and the managedFields entries of managers
// that apply manifests. A Plan removes the field from both and writes nothing else. If any field would not survive the next apply,
// there is no plan.
package release

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 80

// Plan is a planned change of an object's records.
type Plan struct {
	explain.Explanation
	// Paths are the requested fields, or ancestors of fields.
	Paths []fieldpath.Path
	// Released are the Paths that a manifest declares.
	Released []fieldpath.Path
	// Delete are the paths to remove from the manifest: for each of Released the path itself, or the outermost ancestor that
	// would become empty. An empty value in a YAML manifest is null, and null deletes the field.
	Delete []fieldpath.Path
	// Diff are the changes as lines: those with - are removed from a record, those with + are added. There are none, and nothing to
	// write, if no manifest declares any of the fields.
	Diff []string

	// annotation is the last-applied annotation, and applied what server-side appliers manage of the live object.
	annotation, applied change
	before, after       []ownership.Entry
	// transferred are the fields, and ancestors of fields, that another manager gets.
	transferred *fieldpath.Set
}

// change is a text with and without the fields, both empty if there is none.
type change struct{ with, without string }

// Of plans the release of fields, given as FIELD arguments of explain. If it cannot, it returns errors, each one line with a
// reason and a remedy. Now is the time of new managedFields entries.
func Of(s source.Subject, fields []string, now time.Time) (Plan, []error) {
	p := Plan{Explanation: explain.Explanation{Subject: s}}
	if len(s.Object.ManagedFields()) == 0 {
		return p, []error{fmt.Errorf("%s: no managedFields, so the manifests that declare its fields are unknown; "+
			"apply the manifest once to record them, then release", s)}
	}
	var err error
	if p.Explanation, err = explain.Of(s); err == nil {
		err = reachable(p.Explanation)
	}
	if err != nil {
		return p, []error{err}
	}
	var refusals []error
	live := jsontree.Valid(s.Object.Text())
	for _, field := range fields {
		paths, err := named(p.Explanation, live, field)
		if err != nil {
			refusals = append(refusals, err)
		}
		p.Paths = append(p.Paths, paths...)
	}
	if refusals != nil {
		return p, refusals
	}
	p.Paths = outermost(p.Paths)
	text, _ := s.Object.Annotation(ownership.LastAppliedAnnotation).String()
	p.annotation, p.applied = p.without(text, p.Paths...), p.without(p.serverSide(), p.Paths...)
	if err := p.releaseEntries(now); err != nil {
		return p, []error{err}
	}
	p.summarize()
	return p, p.unsafe()
}

// without returns the change of a manifest that removes fields, and parents that become empty: if an empty object remained
// there, applying a manifest without it would delete the whole object from the live object.
func (p Plan) without(text string, paths ...fieldpath.Path) change {
	if text == "" {
		return change{}
	}
	manifest := jsontree.Valid([]byte(text))
	for _, path := range paths {
		for _, path := range p.recordedAs(path) {
			manifest.Cut(path, removableIfEmpty)
		}
	}
	return change{text, string(manifest.Remaining())}
}

// serverSide returns what server-side appliers manage of the live object, without what the API server has allocated itself, such as
// a node port.
func (p Plan) serverSide() string {
	applied := jsontree.Valid(source.WithoutGenerated(p.Subject.Object.Text()))
	isApply := func(e ownership.Entry) bool { return e.Operation == managedfields.OperationApply && p.isApplier(e) }
	mayGo := func(path fieldpath.Path) bool { return len(path) > 0 && !containsIdentity(path) }
	for i := range p.Fields {
		if f := &p.Fields[i]; !slices.ContainsFunc(f.Entries, isApply) {
			applied.Cut(f.Path, mayGo)
		}
	}
	return string(applied.Remaining())
}

// recordedAs returns the possible paths of a field in a manifest: a Secret's data can be in stringData.
func (p Plan) recordedAs(path fieldpath.Path) []fieldpath.Path {
	if p.Subject.IsSecret() && *path[0].FieldName == "data" {
		return []fieldpath.Path{path, append(fieldpath.MakePathOrDie("stringData"), path[1:]...)}
	}
	return []fieldpath.Path{path}
}

// removableIfEmpty reports whether a value is removed when it becomes empty. List elements stay, because they have a meaning
// even if empty, and so does the annotations map, which kubectl always records.
func removableIfEmpty(path fieldpath.Path) bool {
	return len(path) > 0 && path[len(path)-1].FieldName != nil && !containsIdentity(path)
}

// summarize sets Released and Delete, and adds the changes of the annotation to Diff.
func (p *Plan) summarize() {
	var cuts []string
	annotation, applied := jsontree.Valid([]byte(p.annotation.without)), jsontree.Valid([]byte(p.applied.without))
	emptied := func(path fieldpath.Path) fieldpath.Path {
		n := len(path)
		for n > 1 && removableIfEmpty(path[:n-1]) && annotation.Find(path[:n-1]) == nil && applied.Find(path[:n-1]) == nil {
			n--
		}
		return path[:n]
	}
	for _, path := range p.Paths {
		var in []fieldpath.Path
		for _, recorded := range p.recordedAs(path) {
			if value := p.Record.LastApplied.Find(recorded); value != nil {
				in = append(in, emptied(recorded))
				shown := table.Shorten(p.Subject.Show(recorded, value.Text()), maxValueLen)
				cuts = append(cuts, fmt.Sprintf("- last-applied: %s: %s", explain.Text(recorded), shown))
			}
		}
		if in == nil && p.leavesEntries(path) {
			in = append(in, emptied(path))
		}
		if in != nil {
			p.Released = append(p.Released, path)
		}
		p.Delete = append(p.Delete, in...)
	}
	p.Diff = append(cuts, p.Diff...)
	p.Delete = outermost(p.Delete)
}

// outermost returns the paths that are not nested under others, without duplicates.
func outermost(paths []fieldpath.Path) []fieldpath.Path {
	all, seen := fieldpath.NewSet(paths...), fieldpath.NewSet()
	return slices.DeleteFunc(paths, func(path fieldpath.Path) bool {
		within := seen.Has(path)
		seen.Insert(path)
		for n := 1; n < len(path) && !within; n++ {
			within = all.Has(path[:n])
		}
		return within
	})
}

// Texts returns paths as a comma-separated list.
func Texts(paths []fieldpath.Path) string {
	texts := make([]string, len(paths))
	for i, path := range paths {
		texts[i] = explain.Text(path)
	}
	return strings.Join(texts, ", ")
}
