package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// verify returns an error unless a text consists of the documents of a stream, without the removed and with the replaced nodes.
func (e *editor) verify(s *Stream, text []byte) error {
	after, err := Parse(source.Text{Name: s.Name, Content: text})
	if err != nil {
		return fmt.Errorf("%s: removing the fields would leave a file that cannot be parsed; %s", s.Name, remedy)
	}
	if len(after.documents) != len(s.documents) {
		return fmt.Errorf("%s: removing the fields would change the number of documents; %s", s.Name, remedy)
	}
	for i, document := range s.documents {
		if differs := e.difference(document, after.documents[i]); differs != nil {
			return fmt.Errorf("%s: document %d, line %d: removing the fields would change other parts of the object; %s",
				s.Name, i+1, differs.Line, remedy)
		}
	}
	return nil
}

// difference returns the first node that differs from the expected result, or nil.
func (e *editor) difference(before, after *yaml.Node) *yaml.Node {
	if want := e.replaced[before]; want != nil {
		if !represents(after, want) {
			return before
		}
		return nil
	}
	if before.Kind != after.Kind || before.Tag != after.Tag || before.Value != after.Value || before.Anchor != after.Anchor ||
		before.Style != after.Style {
		return before
	}
	at := 0
	for i := 0; i < len(before.Content); i++ {
		width := 1
		if before.Kind == yaml.MappingNode {
			width = 2
		}
		last := i + width - 1
		if e.removed[before.Content[last]] {
			i = last
			continue
		}
		if at+width > len(after.Content) {
			return before
		}
		for ; i <= last; i, at = i+1, at+1 {
			if found := e.difference(before.Content[i], after.Content[at]); found != nil {
				return found
			}
		}
		i = last
	}
	if at != len(after.Content) {
		return before
	}
	return nil
}

// represents reports whether a node has a value that is given as JSON.
func represents(node *yaml.Node, want []byte) bool {
	var is any
	expected, err := value.FromJSON(want)
	return err == nil && node.Decode(&is) == nil && value.Equals(value.NewValueInterface(is), expected)
}
