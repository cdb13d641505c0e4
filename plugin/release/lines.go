package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Lines returns what to delete from manifests, one line for each place, and a line for each field that a manifest does not set.
// It returns an error if no manifest contains the object, or if one cannot be parsed.
func (p Plan) Lines(manifests []source.Text) ([]string, error) {
	var lines []string
	var others []string
	found := false
	for _, m := range manifests {
		documents, err := objectsOf(m)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			if !p.is(document) {
				others = append(others, nameOf(document))
				continue
			}
			found = true
			lines = append(lines, p.linesOf(m, document)...)
		}
	}
	if !found {
		contents := "no objects"
		if others != nil {
			contents = strings.Join(others, ", ")
		}
		return nil, fmt.Errorf("%s: not in the files, which contain %s; name the file that the object is applied from", p, contents)
	}
	return lines, nil
}

// objectsOf returns the objects of all documents, including the items of lists.
func objectsOf(m source.Text) (objects []*yaml.Node, err error) {
	for documents := yaml.NewDecoder(bytes.NewReader(m.Content)); ; {
		document := &yaml.Node{}
		switch err := documents.Decode(document); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s; fix the file", m.Name, source.ParserText(err))
		case len(document.Content) == 0:
			continue
		}
		if circular := circle(document, map[*yaml.Node]bool{}); circular != nil {
			return nil, fmt.Errorf("%s: line %d: the anchor %s contains itself; fix the file",
				m.Name, circular.Line, circular.Anchor)
		}
		root := document.Content[0]
		items := child(root, "items")
		if !strings.HasSuffix(text(root, "kind"), "List") || items == nil {
			objects = append(objects, root)
			continue
		}
		for _, item := range items.Content {
			objects = append(objects, resolve(item))
		}
	}
}

// circle returns an anchor that contains an alias of itself, or nil. Nodes in done are known to contain none.
func circle(node *yaml.Node, done map[*yaml.Node]bool) *yaml.Node {
	within := map[*yaml.Node]bool{}
	var visit func(*yaml.Node) *yaml.Node
	visit = func(node *yaml.Node) *yaml.Node {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		switch {
		case within[node]:
			return node
		case done[node]:
			return nil
		}
		within[node] = true
		for _, part := range node.Content {
			if found := visit(part); found != nil {
				return found
			}
		}
		delete(within, node)
		done[node] = true
		return nil
	}
	return visit(node)
}

// is reports whether a document describes the object. The API version can differ, and the namespace can be missing.
func (p Plan) is(document *yaml.Node) bool {
	version, err := schema.ParseGroupVersion(text(document, "apiVersion"))
	namespace := text(document, "metadata", "namespace")
	return err == nil && version.Group == p.Kind.Group && text(document, "kind") == p.Kind.Kind &&
		text(document, "metadata", "name") == p.Name && (namespace == "" || namespace == p.Namespace)
}

func nameOf(document *yaml.Node) string {
	return strings.ToLower(text(document, "kind")) + "/" + text(document, "metadata", "name")
}

// linesOf returns what to delete from the document of the object.
func (p Plan) linesOf(m source.Text, document *yaml.Node) (lines []string) {
	var places []*place
	for _, path := range p.Paths {
		set := false
		for _, path := range p.recordedAs(path) {
			if at := follow(document, path); at != nil {
				at.hidden = p.Hidden(path)
				places, set = append(places, at), true
			}
		}
		if !set {
			lines = append(lines, fmt.Sprintf("%s: does not set %s; nothing to delete", m.Name, explain.Text(path)))
		}
	}
	w, others := newWritten(m.Content), aliasesOf(document)
	for _, at := range widen(places) {
		at.hidden = at.hidden || p.IsSecret()
		lines = append(lines, at.sentence(m, w, others))
	}
	return lines
}
