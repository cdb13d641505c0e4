package release

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Lines returns what to delete from manifests, one line for each place, and a line for each field that a manifest does not set.
// It returns an error if no manifest contains the object, or if one cannot be parsed.
func (p Plan) Lines(manifests []source.Text) ([]string, error) {
	var lines []string
	var others []string
	found := false
	for _, m := range manifests {
		stream, err := manifest.Parse(m)
		if err != nil {
			return nil, err
		}
		for _, object := range stream.Objects {
			if !p.is(object) {
				others = append(others, nameOf(object))
				continue
			}
			found = true
			lines = append(lines, p.linesOf(stream, object)...)
		}
	}
	if !found {
		contents := "no objects"
		if others != nil {
			contents = strings.Join(others, ", ")
		}
		return nil, fmt.Errorf("%s: not in the files, which contain %s; name the file that the object is applied from",
			p.Subject, contents)
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

func nameOf(o manifest.Object) string {
	return strings.ToLower(o.Value("kind")) + "/" + o.Value("metadata", "name")
}

// linesOf returns what to delete from the manifest of the object.
func (p Plan) linesOf(stream *manifest.Stream, o manifest.Object) (lines []string) {
	var places []*manifest.Place
	hidden := map[*manifest.Place]bool{}
	for _, path := range p.Paths {
		set := false
		for _, path := range p.recordedAs(path) {
			if at := o.Find(path); at != nil {
				hidden[at] = p.Subject.Hidden(path)
				places, set = append(places, at), true
			}
		}
		if !set {
			lines = append(lines, fmt.Sprintf("%s: does not set %s; nothing to delete", stream.Name, explain.Text(path)))
		}
	}
	for _, at := range manifest.Widen(places) {
		lines = append(lines, instruction(stream, at, hidden[at] || p.Subject.IsSecret()))
	}
	return lines
}
