package strip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Reader reads live objects.
type Reader interface {
	// Read returns a live object with the facts about its owners; ok is false if it does not exist.
	Read(ctx context.Context, id source.Identity) (s source.Subject, ok bool, err error)
}

// Stripper strips manifests.
type Stripper struct {
	Live Reader
	// IgnoreErrors leaves an object unchanged, and adds a gap, if its live object or owners are unknown.
	IgnoreErrors bool
}

// File is a stripped file.
type File struct {
	Name string
	// Text is its new text.
	Text []byte
	// Objects are the objects with fields that others own.
	Objects []Object
	// Manifests is the number of objects that the file describes, Missing are those that do not exist.
	Manifests int
	Missing   []string
	// Gaps describe what is unknown.
	Gaps []string
}

// Object is an object of a file, and those of its fields that others own.
type Object struct {
	Subject source.Subject
	Fields  []Field
}

// File strips a file. The error is one line that names the file, the object and a remedy; then no part of the file is valid.
func (s Stripper) File(ctx context.Context, t source.Text) (File, error) {
	whole := File{Name: t.Name}
	for _, part := range parts(t.Content) {
		file, err := s.part(ctx, source.Text{Name: t.Name, Content: append(bytes.Repeat([]byte("\n"), part.lines), part.text...)})
		if err != nil {
			return whole, err
		}
		whole.Text = append(whole.Text, file.Text[part.lines:]...)
		whole.Objects, whole.Gaps = append(whole.Objects, file.Objects...), append(whole.Gaps, file.Gaps...)
		whole.Missing, whole.Manifests = append(whole.Missing, file.Missing...), whole.Manifests+file.Manifests
	}
	return whole, nil
}

// part is a part of a file that a YAML parser can read.
type part struct {
	text []byte
	// lines are those before it.
	lines int
}

// parts splits a file of several JSON values without separators, which kubectl reads. Any other file is one part.
func parts(content []byte) (split []part) {
	values := json.NewDecoder(bytes.NewReader(content))
	start := 0
	for {
		var value json.RawMessage
		switch err := values.Decode(&value); {
		case errors.Is(err, io.EOF) && len(split) > 1:
			split[len(split)-1].text = append(split[len(split)-1].text, content[start:]...)
			return split
		case err != nil || value[0] != '{':
			return []part{{text: content}}
		}
		end := int(values.InputOffset())
		split = append(split, part{slices.Clone(content[start:end]), bytes.Count(content[:start], []byte("\n"))})
		start = end
	}
}

func (s Stripper) part(ctx context.Context, t source.Text) (File, error) {
	file := File{Name: t.Name}
	stream, err := manifest.Parse(t)
	if err != nil {
		return file, err
	}
	var edits []manifest.Edit
	for _, o := range stream.Objects {
		id, ok := identityOf(o)
		if !ok {
			continue // kubectl apply refuses it, or creates a new object
		}
		object, exists, err := s.object(ctx, o, id)
		file.Manifests++
		if err == nil && !exists {
			file.Missing = append(file.Missing, id.String())
			continue
		}
		if err == nil && len(object.Subject.Gaps) > 0 && !s.IgnoreErrors {
			return file, fmt.Errorf("%s: %s", t.Name, object.Subject.Gaps[0])
		}
		if err != nil && !s.IgnoreErrors {
			return file, fmt.Errorf("%s: %s: %w", t.Name, id, err)
		}
		if err != nil {
			file.Gaps = append(file.Gaps, fmt.Sprintf("%s: %s: not stripped: %v", t.Name, id, err))
			continue
		}
		for _, gap := range object.Subject.Gaps {
			file.Gaps = append(file.Gaps, fmt.Sprintf("%s: %s", t.Name, gap))
		}
		planned, err := object.plan(stream)
		if err != nil {
			return file, fmt.Errorf("%s: document %d: %s: %w", t.Name, o.Document, id, err)
		}
		edits = append(edits, planned...)
		if len(object.Fields) > 0 {
			file.Objects = append(file.Objects, object)
		}
	}
	if file.Text, err = stream.Apply(edits); err != nil {
		return file, err
	}
	err = file.addResults()
	return file, err
}

func (s Stripper) object(ctx context.Context, o manifest.Object, id source.Identity) (object Object, exists bool, err error) {
	subject, exists, err := s.Live.Read(ctx, id)
	if err != nil || !exists {
		return object, false, err
	}
	fields, err := fieldsOf(o, subject)
	return Object{subject, fields}, true, err
}

// identityOf returns which object a manifest describes. A manifest without a name, as with generateName, describes none that
// exists.
func identityOf(o manifest.Object) (id source.Identity, ok bool) {
	version, err := schema.ParseGroupVersion(o.Value("apiVersion"))
	id = source.Identity{
		Kind:      version.WithKind(o.Value("kind")),
		Namespace: o.Value("metadata", "namespace"), Name: o.Value("metadata", "name"),
	}
	return id, err == nil && id.Kind.Kind != "" && id.Kind.Version != "" && id.Name != ""
}

// plan sets the actions, drops fields that already have the live value, and returns the edits.
func (o *Object) plan(stream *manifest.Stream) ([]manifest.Edit, error) {
	record, err := recordOf(o.Subject)
	if err != nil {
		return nil, err
	}
	edits, err := o.planDrops(stream, record)
	if err != nil {
		return nil, err
	}
	var fields []Field
	for _, f := range o.Fields {
		if f.Action == Set && f.isLive() {
			continue // nothing changes, now or by the apply
		}
		fields = append(fields, f)
		if f.Action != Set {
			continue
		}
		if stream.IsShared(f.at) {
			return nil, shared(f.at, f.written)
		}
		edits = append(edits, manifest.Edit{Place: f.at, Value: f.live})
	}
	o.Fields = fields
	return edits, nil
}

// planDrops returns the edits that drop fields. A parent that would be left empty is dropped as well, unless an apply without the
// parent would delete the live one: then its fields get the live values.
func (o *Object) planDrops(stream *manifest.Stream, r record) (edits []manifest.Edit, err error) {
	for {
		var dropped []*Field
		var places []*manifest.Place
		for i := range o.Fields {
			f := &o.Fields[i]
			if f.Action == Dropped && f.Reason != "" {
				f.keep(o.Subject)
			}
			if f.Action == Dropped {
				dropped, places = append(dropped, f), append(places, f.at)
			}
		}
		wide := manifest.Widen(places)
		done := true
		for i, depth := range manifest.Depths(places, wide) {
			if f := dropped[i]; r.annotates(f.written[:depth]) {
				f.Reason = "the last-applied annotation contains its parent " + explain.Text(f.written[:depth])
				done = false
			}
		}
		if !done {
			continue
		}
		for _, at := range wide {
			if stream.IsShared(at) {
				return nil, shared(at, dropped[0].written)
			}
			edits = append(edits, manifest.Edit{Place: at})
		}
		return edits, nil
	}
}

// keep keeps a field whose removal an apply would take for its deletion. The live values of a Secret are never written.
func (f *Field) keep(s source.Subject) {
	if f.Action = Set; s.Hidden(f.Path) {
		f.Action = Left
	}
}

func shared(at *manifest.Place, path fieldpath.Path) error {
	return fmt.Errorf("line %d: %s is shared with other parts of the file through an anchor; write it without the anchor",
		at.Line(), explain.Text(path))
}
