package manifest

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// Add returns the text of the file with another field at the end of an object, which must be the whole file (see Root). The value
// is JSON, the name a plain word. If the object already has the field, the text does not change.
func (s *Stream) Add(o Object, name string, json []byte) ([]byte, error) {
	if o.Node.Kind != yaml.MappingNode || child(o.Node, name) != nil {
		return s.written.text, nil
	}
	text := s.written.text
	var before, after []byte
	var added string
	if o.Node.Style&yaml.FlowStyle != 0 {
		end := s.written.end(o.Node, 0)
		before, after = bytes.TrimRight(text[:end], " \t\r\n,"), text[end:]
		added = fmt.Sprintf(", %q: %s", name, json)
	} else {
		end := s.written.after(s.written.end(o.Node, 0))
		if next := bytes.IndexByte(text[min(end, len(text)):], '\n'); next >= 0 {
			end += next
		} else {
			end = len(text)
		}
		before, after = text[:end], text[end:]
		added = "\n" + strings.Repeat(" ", o.Node.Column-1) + name + ": " + string(json)
	}
	text = bytes.Join([][]byte{before, []byte(added), after}, nil)
	return text, s.verifyAdded(text, name, json)
}

// verifyAdded returns an error unless a text has the added field and is otherwise unchanged.
func (s *Stream) verifyAdded(text []byte, name string, json []byte) error {
	failed := fmt.Errorf("%s: %s cannot be added; %s", s.Name, name, remedy)
	after, err := Parse(source.Text{Name: s.Name, Content: text})
	if err != nil || len(after.documents) != 1 {
		return failed
	}
	root, ok := after.Root()
	if !ok || root.Node.Kind != yaml.MappingNode || child(root.Node, name) == nil {
		return failed
	}
	last := len(root.Node.Content) - 1
	var is any
	want, err := value.FromJSON(json)
	if err != nil || root.Node.Content[last].Decode(&is) != nil || !value.Equals(value.NewValueInterface(is), want) {
		return failed
	}
	root.Node.Content = root.Node.Content[:last-1]
	if (&editor{}).difference(s.documents[0], after.documents[0]) != nil {
		return failed
	}
	return nil
}
