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

// Lines says what to delete from manifests, a line for each place. Where they set a field nowhere, it says that. That they do
// not hold the object at all is an error, as is a text that cannot be read.
func (p Plan) Lines(manifests []source.Text) ([]string, error) {
	var lines []string
	var held []string
	found := false
	for _, m := range manifests {
		documents, err := objectsOf(m)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			if !p.is(document) {
				held = append(held, nameOf(document))
				continue
			}
			found = true
			lines = append(lines, p.linesOf(m, document)...)
		}
	}
	if !found {
		holds := "no objects"
		if held != nil {
			holds = strings.Join(held, ", ")
		}
		return nil, fmt.Errorf("%s: it is not in the files, which hold %s; name the file that it is applied from", p, holds)
	}
	return lines, nil
}

// objectsOf returns the objects of all documents, and those of lists.
func objectsOf(m source.Text) (objects []*yaml.Node, err error) {
	for documents := yaml.NewDecoder(bytes.NewReader(m.Content)); ; {
		document := &yaml.Node{}
		switch err := documents.Decode(document); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s; correct the file there", m.Name, source.ParserText(err))
		case len(document.Content) == 0:
			continue
		}
		if circular := circle(document, map[*yaml.Node]bool{}); circular != nil {
			return nil, fmt.Errorf("%s: line %d: the anchor %s contains itself; correct the file there",
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

// circle returns an anchor that holds an alias of itself, nil where there is none. Done are those that are known to hold none.
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

// is says whether a document is of the object. Which version it is written in, and whether it names the namespace, does not
// matter.
func (p Plan) is(document *yaml.Node) bool {
	version, err := schema.ParseGroupVersion(text(document, "apiVersion"))
	namespace := text(document, "metadata", "namespace")
	return err == nil && version.Group == p.Kind.Group && text(document, "kind") == p.Kind.Kind &&
		text(document, "metadata", "name") == p.Name && (namespace == "" || namespace == p.Namespace)
}

func nameOf(document *yaml.Node) string {
	return strings.ToLower(text(document, "kind")) + "/" + text(document, "metadata", "name")
}

// linesOf says what to delete from the document of the object.
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
