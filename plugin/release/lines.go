package release

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Lines returns what to delete from manifests, one line for each place, and a line for each field that a manifest does not set.
// It returns an error if no manifest contains the object, or if one cannot be parsed.
func (p Plan) Lines(manifests []source.Text) (lines []string, err error) {
	var others []string
	found := false
	for _, m := range manifests {
		stream, err := manifest.Parse(m)
		if err != nil {
			return nil, err
		}
		for _, object := range stream.Objects {
			if p.is(object) {
				found = true
				lines = append(lines, p.linesOf(stream, object)...)
			} else {
				others = append(others, strings.ToLower(object.Value("kind"))+"/"+object.Value("metadata", "name"))
			}
		}
	}
	if !found {
		if others == nil {
			others = []string{"no objects"}
		}
		return nil, fmt.Errorf("%s: not in the files, which contain %s; name the file that the object is applied from",
			p.Subject, strings.Join(others, ", "))
	}
	return lines, nil
}

// is reports whether a manifest describes the object. The API version can differ, and the namespace can be missing.
func (p Plan) is(o manifest.Object) bool {
	version, err := schema.ParseGroupVersion(o.Value("apiVersion"))
	namespace := o.Value("metadata", "namespace")
	return err == nil && version.Group == p.Subject.Kind.Group && o.Value("kind") == p.Subject.Kind.Kind &&
		o.Value("metadata", "name") == p.Subject.Name && (namespace == "" || namespace == p.Subject.Namespace)
}

// linesOf returns what to delete from the manifest of the object.
func (p Plan) linesOf(stream *manifest.Stream, o manifest.Object) (lines []string) {
	var places []*manifest.Place
	for _, path := range p.Paths {
		set := false
		for _, path := range p.recordedAs(path) {
			if at := o.Find(path); at != nil {
				places, set = append(places, at), true
			}
		}
		if !set {
			lines = append(lines, fmt.Sprintf("%s: does not set %s; nothing to delete", stream.Name, explain.Text(path)))
		}
	}
	places = manifest.Widen(places)
	slices.SortStableFunc(places, func(a, b *manifest.Place) int { return a.Line() - b.Line() })
	places = slices.CompactFunc(places, func(a, b *manifest.Place) bool { return a.Node == b.Node })
	for _, at := range places {
		lines = append(lines, p.instruction(stream, at))
	}
	return lines
}

// instruction returns the instruction to delete a place, with its first line so that the reader recognizes it. It does not show
// the contents of a Secret.
func (p Plan) instruction(stream *manifest.Stream, at *manifest.Place) string {
	first, last, written := stream.Lines(at)
	snippet, _, _ := strings.Cut(written, "\n")
	if p.Subject.IsSecret() {
		if snippet = "-"; at.Key != nil {
			snippet = at.Key.Value + ":"
		}
	}
	where := fmt.Sprintf("%s:%d", stream.Name, first)
	if last > first {
		where += fmt.Sprintf("-%d", last)
	}
	sentence := fmt.Sprintf("%s: delete %q", where, table.Shorten(strings.TrimSpace(snippet), maxValueLen))
	if stream.IsShared(at) {
		sentence += "; other parts of the file use it through an anchor"
	}
	return sentence
}
