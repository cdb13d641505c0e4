// Package manifest finds, removes and replaces fields in the text of manifests, and leaves everything else in the text as it is:
// comments, the order of keys, indentation and quoting.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// Stream is a file of manifests: YAML documents or JSON values.
type Stream struct {
	// Name is the name of the file in messages.
	Name string
	// Objects are the objects of all documents, including the items of lists.
	Objects []Object

	documents []*yaml.Node
	text      text
	// bom is the byte order mark before the text, and separators are what Parse has added to it.
	bom        []byte
	separators []cut
	// aliased are the nodes that aliases refer to.
	aliased map[*yaml.Node]bool
}

// Object is an object in a stream.
type Object struct {
	Node *yaml.Node
	// implied are the apiVersion and kind of an item of a typed list, such as a DeploymentList, that does not repeat them.
	implied map[string]string
}

// Parse reads a file. The error names the file and the line.
func Parse(t source.Text) (*Stream, error) {
	s := &Stream{Name: t.Name, aliased: map[*yaml.Node]bool{}}
	content, marked := bytes.CutPrefix(t.Content, []byte("\ufeff"))
	if marked {
		s.bom = t.Content[:len(t.Content)-len(content)]
	}
	content, s.separators = separateValues(content)
	for documents := yaml.NewDecoder(bytes.NewReader(content)); ; {
		document := &yaml.Node{}
		switch err := documents.Decode(document); {
		case errors.Is(err, io.EOF):
			s.text = newText(content, s.documents)
			return s, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s; fix the file", t.Name, source.ParserText(err))
		}
		s.documents = append(s.documents, document)
		each(document, func(node *yaml.Node) {
			if node.Kind == yaml.AliasNode {
				s.aliased[node.Alias] = true
			}
		})
		s.addObjects(document)
	}
}

// separateValues makes a file of several JSON values, which kubectl reads, a file of YAML documents. Any other file stays as it is.
// A carriage return begins a line for YAML, but does not change the numbers of lines.
func separateValues(content []byte) (separate []byte, separators []cut) {
	end := 0
	for values := json.NewDecoder(bytes.NewReader(content)); ; {
		var value json.RawMessage
		switch err := values.Decode(&value); {
		case errors.Is(err, io.EOF):
			return append(separate, content[end:]...), separators
		case err != nil || value[0] != '{':
			return content, nil
		}
		start := int(values.InputOffset()) - len(value)
		separate = append(separate, content[end:start]...)
		if end > 0 {
			separators = append(separators, cut{len(separate), len(separate) + len("\r--- "), ""})
			separate = append(separate, "\r--- "...)
		}
		end = start + len(value)
		separate = append(separate, value...)
	}
}

func (s *Stream) addObjects(document *yaml.Node) {
	if len(document.Content) == 0 {
		return
	}
	root := Object{Node: document.Content[0]}
	items := child(root.Node, "items")
	if !strings.HasSuffix(root.Value("kind"), "List") || items == nil {
		s.Objects = append(s.Objects, root)
		return
	}
	for _, item := range items.Content {
		o := Object{Node: resolve(item)}
		if kind := strings.TrimSuffix(root.Value("kind"), "List"); kind != "" && o.Value("kind") == "" {
			o.implied = map[string]string{"apiVersion": root.Value("apiVersion"), "kind": kind}
		}
		s.Objects = append(s.Objects, o)
	}
}

// isShared reports whether other parts of the file can use a place, through an anchor.
func (s *Stream) isShared(at *Place) bool {
	shared := at.merged
	for in := at.in; in != nil; in = in.in {
		shared = shared || in.merged || s.aliased[in.collection()]
	}
	each(at.Node, func(node *yaml.Node) { shared = shared || s.aliased[node] })
	return shared
}

// each visits a node and its descendants, without following aliases.
func each(node *yaml.Node, visit func(*yaml.Node)) {
	visit(node)
	for _, part := range node.Content {
		each(part, visit)
	}
}

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
