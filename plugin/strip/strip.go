// Package strip removes fields that autoscalers and controllers own in the live objects from manifests, so that an apply
// neither resets them nor, server-side, conflicts with their managers.
//
// A field is removed only if the next apply would not delete it from the live object. kubectl apply deletes a field that the
// last-applied annotation declares, or whose list or strategy it replaces, Helm 3 one that the manifest of the last release declares,
// and server-side apply one that no other manager manages
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). In these cases the manifest gets the live value
// instead, which no apply changes.
package strip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 80

// Stripper strips manifests.
type Stripper struct {
	// Read returns a live object with the facts about its owners; ok is false if it does not exist.
	Read func(ctx context.Context, id source.Identity) (s source.Subject, ok bool, err error)
	// IgnoreErrors leaves an object unchanged, and adds a gap, if its live object or owners are unknown.
	IgnoreErrors bool

	// Objects are the objects with fields that others own.
	Objects []Object
	// Manifests is the number of objects that the files describe, Missing are those that do not exist.
	Manifests int
	Missing   []string
	// Gaps describe what is unknown.
	Gaps []string
}

// Object is an object of a file, and those of its fields that others own.
type Object struct {
	// File is the name of the file.
	File   string         `json:"file"`
	Object source.Subject `json:"object"`
	Fields []Field        `json:"fields"`
}

// File returns the text of a file after stripping it. The error is one line that names the file, the object and a remedy.
func (s *Stripper) File(ctx context.Context, t source.Text) ([]byte, error) {
	stream, err := manifest.Parse(t)
	if err != nil {
		return nil, err
	}
	var edits []*manifest.Place
	for _, o := range stream.Objects {
		version, err := schema.ParseGroupVersion(o.Value("apiVersion"))
		id := source.Identity{
			Kind:      version.WithKind(o.Value("kind")),
			Namespace: o.Value("metadata", "namespace"), Name: o.Value("metadata", "name"),
		}
		if err != nil || id.Kind.Kind == "" || id.Kind.Version == "" || id.Name == "" {
			continue // kubectl apply refuses it, or creates a new object
		}
		s.Manifests++
		object := Object{File: t.Name}
		planned, err := s.plan(ctx, &object, o, id)
		switch {
		case err != nil && !s.IgnoreErrors:
			return nil, fmt.Errorf("%s: %s: %w", t.Name, id, err)
		case err != nil:
			s.Gaps = append(s.Gaps, fmt.Sprintf("%s: %s: not stripped: %v", t.Name, id, err))
		case len(object.Fields) > 0:
			edits = append(edits, planned...)
			s.Objects = append(s.Objects, object)
		}
	}
	return stream.Apply(edits)
}

// plan sets the subject of an object and the fields that others own, and returns the edits. A parent that would be left empty is
// dropped as well, unless an apply without the parent would delete the live one: then its fields get the live values.
func (s *Stripper) plan(ctx context.Context, o *Object, from manifest.Object, id source.Identity) (edits []*manifest.Place, err error) {
	subject, exists, err := s.Read(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !exists:
		s.Missing = append(s.Missing, id.String())
		return nil, nil
	}
	explained, err := explain.Of(subject)
	if err != nil {
		subject.Gaps = append(subject.Gaps, err.Error())
	}
	if len(subject.Gaps) > 0 {
		return nil, errors.New(strings.TrimPrefix(subject.Gaps[0], subject.String()+": "))
	}
	o.Object, o.Fields = subject, fieldsOf(explained, from)
	dropped, wide := o.drops()
	changes := changesWithout(explained, from, wide)
	for i, f := range dropped {
		if parent := wide[i].Path; explained.Record.LastApplied.Find(parent) != nil {
			f.keep("the last-applied annotation contains its parent " + explain.Text(parent))
		} else if changes(f.at.Path) {
			f.keep("kubectl apply replaces what contains it")
		}
	}
	_, edits = o.drops()
	o.Fields = slices.DeleteFunc(o.Fields, func(f Field) bool { return f.Action == Set && f.at.HasValue(f.Live) })
	for _, f := range o.Fields {
		if f.Action == Set {
			f.at.Value = f.Live
			edits = append(edits, f.at)
		}
	}
	return edits, nil
}

// changesWithout returns a function that reports whether kubectl apply of a manifest without some places changes the live value at a path.
func changesWithout(e explain.Explanation, from manifest.Object, without []*manifest.Place) func(fieldpath.Path) bool {
	text, err := yaml.Marshal(from.Node)
	if err == nil {
		text, err = sigsyaml.YAMLToJSON(text)
	}
	if err != nil || e.Record.LastApplied == nil {
		return func(fieldpath.Path) bool { return false }
	}
	root := jsontree.Valid(text)
	for _, at := range without {
		root.Cut(at.Path, func(fieldpath.Path) bool { return false })
	}
	return e.Subject.Changes(e.Record.LastApplied.Text(), root.Remaining())
}

// drops returns the dropped fields, and the places to remove from the manifest for them.
func (o *Object) drops() (dropped []*Field, wide []*manifest.Place) {
	for i := range o.Fields {
		if f := &o.Fields[i]; f.Action == Dropped {
			dropped, wide = append(dropped, f), append(wide, f.at)
		}
	}
	return dropped, manifest.Widen(wide)
}

// Lines returns what happened to the fields, one line each.
func (s *Stripper) Lines() (lines []string) {
	for _, o := range s.Objects {
		for _, f := range o.Fields {
			value, why := "", ""
			switch f.Action {
			case Dropped:
			case Set:
				value = " to the live value " + table.Shorten(string(f.Live), maxValueLen)
				why = "; without the field, an apply could delete it: " + f.Reason
			case Left:
				why = ": " + f.Reason
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s %s%s, owned by %s%s", o.File, o.Object, f.Action, f.Path, value, cmp.Or(f.By, "an unnamed manager"), why))
		}
	}
	return lines
}
