// Package release plans how to stop managing fields through the manifest that an object was applied from, so that the next
// apply of the manifest without them does not change them. It follows the documented procedures for changing the ownership of
// a field to an imperative writer (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/), and for
// transferring it between managers
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
//
// Two records say that a manifest declares a field: the last-applied annotation, and the managedFields entries of managers
// that apply manifests. A Plan removes the field from both and writes nothing else. If any field would not survive the next apply, there is no plan.
package release

import (
	"errors"
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
	// Subject is the object.
	Subject source.Subject
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

	fields        ownership.Fields // all fields of the object
	was, text     string           // the annotation
	before, after []ownership.Entry
	// declared are the fields that server-side appliers still manage. The entries of others contain defaults.
	declared *fieldpath.Set
	// cut are the paths removed from the annotation, as manifests write them, and moved are the Paths that entries gain or lose.
	cut, moved map[string]bool
}

// Of plans the release of fields, given as FIELD arguments of explain. If it cannot, it returns errors, each one line with a
// reason and a remedy. Now is the time of new managedFields entries.
func Of(s source.Subject, fields []string, now time.Time) (Plan, []error) {
	p := Plan{Subject: s, declared: fieldpath.NewSet(), cut: map[string]bool{}, moved: map[string]bool{}}
	if len(s.Object.ManagedFields()) == 0 {
		return p, []error{fmt.Errorf("%s: no managedFields, so the manifests that declare its fields are unknown; "+
			"apply the manifest once to record them, then release", s)}
	}
	explained, err := explain.Of(s)
	if err == nil {
		err = reachable(explained)
	}
	if err != nil {
		return p, []error{err}
	}
	p.fields = explained.Fields
	var refusals []error
	live := jsontree.Valid(p.Subject.Object.Text())
	for _, field := range fields {
		paths, err := named(explained, live, field)
		if err != nil {
			refusals = append(refusals, err)
		}
		p.Paths = append(p.Paths, paths...)
	}
	if refusals != nil {
		return p, refusals
	}
	p.Paths = outermost(p.Paths)
	p.was, _ = p.Subject.Object.LastApplied()
	p.cutAnnotation()
	if err := errors.Join(p.releaseEntries(now), p.summarize()); err != nil {
		return p, []error{err}
	}
	return p, p.unsafe()
}

func (p *Plan) cutAnnotation() {
	var cuts []cut
	p.text, cuts = p.without(p.Paths...)
	for _, c := range cuts {
		p.cut[c.path.String()] = true
		value := table.Shorten(p.Subject.Show(c.path, c.value), maxValueLen)
		p.Diff = append(p.Diff, fmt.Sprintf("- last-applied: %s: %s", explain.Text(c.path), value))
	}
}

// cut is a value that is removed from the annotation.
type cut struct {
	path  fieldpath.Path
	value []byte
}

// without returns the annotation without fields, and without parents that become empty: if an empty object remained there,
// applying a manifest without it would delete the whole object from the live object.
func (p Plan) without(paths ...fieldpath.Path) (text string, cuts []cut) {
	if p.was == "" {
		return "", nil
	}
	annotation := jsontree.Valid([]byte(p.was))
	for _, path := range paths {
		for _, path := range p.recordedAs(path) {
			if value := annotation.Cut(path, removableIfEmpty); value != nil {
				cuts = append(cuts, cut{path, value.Text()})
			}
		}
	}
	return string(annotation.Remaining()), cuts
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

// summarize sets Released and Delete.
func (p *Plan) summarize() error {
	annotation := jsontree.Valid([]byte(p.text))
	ancestors := fieldpath.NewSet()
	for _, path := range p.Paths {
		for n := 1; n < len(path); n++ {
			ancestors.Insert(path[:n])
		}
	}
	others, err := managedfields.New("", ownership.Entry{}, p.declared.Difference(ancestors))
	if err != nil {
		return err
	}
	emptied := func(path fieldpath.Path) fieldpath.Path {
		n := len(path)
		for n > 1 && removableIfEmpty(path[:n-1]) && annotation.Find(path[:n-1]) == nil && !others.Contains(path[:n-1]) {
			n--
		}
		return path[:n]
	}
	for _, path := range p.Paths {
		var in []fieldpath.Path
		for _, recorded := range p.recordedAs(path) {
			if p.cut[recorded.String()] {
				in = append(in, emptied(recorded))
			}
		}
		if in == nil && p.moved[path.String()] {
			in = append(in, emptied(path))
		}
		if in != nil {
			p.Released = append(p.Released, path)
		}
		p.Delete = append(p.Delete, in...)
	}
	p.Delete = outermost(p.Delete)
	return nil
}

// outermost returns the paths that are not nested under others, without duplicates.
func outermost(paths []fieldpath.Path) []fieldpath.Path {
	listed, seen := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		listed[path.String()] = true
	}
	return slices.DeleteFunc(paths, func(path fieldpath.Path) bool {
		within := seen[path.String()]
		seen[path.String()] = true
		for n := 1; n < len(path) && !within; n++ {
			within = listed[path[:n].String()]
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
