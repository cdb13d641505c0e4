// Package manifest finds, removes and replaces fields in the text of manifests, and leaves everything else in the text as it is:
// comments, the order of keys, indentation and quoting.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// Stream is a file of manifests: YAML documents or JSON.
type Stream struct {
	// Name is the name of the file in messages.
	Name string
	// Objects are the objects of all documents, including the items of lists.
	Objects []Object

	documents []*yaml.Node
	written   written
	aliases   aliases
}

// Object is an object in a stream.
type Object struct {
	Node *yaml.Node
	// Document is the number of the YAML document, counted from 1.
	Document int
	// implied are the apiVersion and kind of an item of a typed list, such as a DeploymentList, that does not repeat them.
	implied map[string]string
}

// Parse reads a file. The error names the file and the line.
func Parse(t source.Text) (*Stream, error) {
	s := &Stream{Name: t.Name, aliases: aliases{}}
	for documents := yaml.NewDecoder(bytes.NewReader(t.Content)); ; {
		document := &yaml.Node{}
		switch err := documents.Decode(document); {
		case errors.Is(err, io.EOF):
			s.written = newWritten(t.Content)
			return s, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s; fix the file", t.Name, source.ParserText(err))
		}
		if circular := circle(document, map[*yaml.Node]bool{}); circular != nil {
			return nil, fmt.Errorf("%s: line %d: the anchor %s contains itself; fix the file",
				t.Name, circular.Line, circular.Anchor)
		}
		s.documents = append(s.documents, document)
		s.aliases.add(document)
		s.addObjects(document)
	}
}

func (s *Stream) addObjects(document *yaml.Node) {
	if len(document.Content) == 0 {
		return
	}
	root := Object{Node: document.Content[0], Document: len(s.documents)}
	items := child(root.Node, "items")
	if !strings.HasSuffix(root.Value("kind"), "List") || items == nil {
		s.Objects = append(s.Objects, root)
		return
	}
	for _, item := range items.Content {
		o := Object{Node: resolve(item), Document: root.Document}
		if kind := strings.TrimSuffix(root.Value("kind"), "List"); kind != "" && o.Value("kind") == "" {
			o.implied = map[string]string{"apiVersion": root.Value("apiVersion"), "kind": kind}
		}
		s.Objects = append(s.Objects, o)
	}
}

// Text returns the text of the file.
func (s *Stream) Text() []byte { return s.written.text }

// Root returns the document that consists of a single object or list, or false if there are several documents.
func (s *Stream) Root() (Object, bool) {
	if len(s.documents) != 1 || len(s.documents[0].Content) == 0 {
		return Object{}, false
	}
	return Object{Node: s.documents[0].Content[0], Document: 1}, true
}

// Lines returns the first and the last line of a place, counted from 1.
func (s *Stream) Lines(at *Place) (first, last int) { return s.written.extent(at) }

// IsShared reports whether other parts of the file use a place, through an anchor.
func (s *Stream) IsShared(at *Place) bool { return at.shared || s.aliases.leadInto(at) }

// Value returns the scalar at a path of fields, or "".
func (o Object) Value(names ...string) string {
	node := o.Node
	for _, name := range names {
		if node = child(node, name); node == nil {
			return o.implied[name]
		}
	}
	return node.Value
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
