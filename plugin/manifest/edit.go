package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// Apply returns the text of the file after the edits of places: their removal or, if Value is set, their replacement. It changes nothing
// else. It makes the same edits in the parsed file, and compares that with the parsed result: if they differ, or other parts of the file
// use a place through an anchor, it returns an error. Places must not be nested in each other. The stream must not be used afterwards.
func (s *Stream) Apply(edits []*Place) ([]byte, error) {
	e := editor{text: s.text, cuts: slices.Clone(s.separators), removed: map[*yaml.Node]bool{}}
	for _, at := range edits {
		if s.isShared(at) {
			return nil, fmt.Errorf("%s: line %d: %s is shared with other parts of the file through an anchor; write it without the anchor",
				s.Name, at.Line(), at.Path)
		}
		e.removed[at.Node] = at.Value == nil
	}
	for _, at := range edits {
		if at.Value == nil {
			e.removeFrom(at.in.collection())
		} else {
			e.replace(at)
		}
	}
	for _, at := range edits {
		if at.Value == nil && len(at.object().Nearest(at.Path).Path) == len(at.Path) {
			return nil, fmt.Errorf("%s: line %d: the field is set twice in the same object, or also through an anchor; "+
				"remove one of them", s.Name, at.Line())
		}
	}
	written, err := e.result()
	if err == nil && len(edits) > 0 {
		err = s.verify(written)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; write the object in block style, with one field on a line and without anchors", s.Name, err)
	}
	return append(slices.Clone(s.bom), written...), nil
}

// verify returns an error unless a text consists of the documents of the stream, as they have been edited.
func (s *Stream) verify(written []byte) error {
	after, err := Parse(source.Text{Name: s.Name, Content: written})
	if err != nil || len(after.documents) != len(s.documents) {
		return errors.New("the edit would leave a file that cannot be parsed, or has other documents")
	}
	for i, document := range s.documents {
		if !same(document, after.documents[i]) {
			return fmt.Errorf("document %d: the edit would change other parts of the object", i+1)
		}
	}
	return nil
}

func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, same)
}

// editor edits the nodes of a stream, and computes the parts of its text to cut or replace.
type editor struct {
	text    text
	removed map[*yaml.Node]bool
	cuts    []cut
}

// cut is a part of the text and its replacement.
type cut struct {
	start, end int // end is exclusive
	text       string
}

func (e *editor) cut(start, end int, text string) { e.cuts = append(e.cuts, cut{start, end, text}) }

// result returns the text with the cuts made.
func (e *editor) result() ([]byte, error) {
	slices.SortStableFunc(e.cuts, func(a, b cut) int { return cmp.Compare(a.start, b.start) })
	var result []byte
	at := 0
	for _, c := range e.cuts {
		if c.start < at || c.end < c.start {
			return nil, errors.New("fields overlap")
		}
		result = append(append(result, e.text.bytes[at:c.start]...), c.text...)
		at = c.end
	}
	return append(result, e.text.bytes[at:]...), nil
}

// part is a field of a mapping or an element of a sequence.
type part struct {
	nodes      []*yaml.Node
	start, end int // end is exclusive
	removed    bool
}

func (e *editor) partsOf(parent *yaml.Node) (parts []part) {
	for content := parent.Content; len(content) > 0; {
		key, width := content[0], 2
		if parent.Kind == yaml.SequenceNode {
			key, width = nil, 1
		}
		start, end := e.text.span(parent, key, content[width-1])
		parts = append(parts, part{content[:width], start, end, e.removed[content[width-1]]})
		content = content[width:]
	}
	return parts
}

// removeFrom cuts the removed children of a mapping or sequence: each run of removed neighbors together with the separators. Comments
// between the parts of a flow collection stay: they end a run.
func (e *editor) removeFrom(parent *yaml.Node) {
	parts := e.partsOf(parent)
	var left []*yaml.Node
	for i := 0; i < len(parts); i++ {
		if !parts[i].removed {
			left = append(left, parts[i].nodes...)
			continue
		}
		run := i + 1
		for run < len(parts) && parts[run].removed && (!isFlow(parent) || !e.hasComment(parts[run-1].end, parts[run].start)) {
			run++
		}
		if isFlow(parent) {
			e.cutFlow(parts, i, run)
		} else {
			e.cutBlock(parts, i, run)
		}
		i = run - 1
	}
	parent.Content = left
}

// cutFlow cuts parts i to run of a flow collection, with the comma after them or, if they are the last, with the one before.
// If a comment is in between, which JSON does not have, the comma before can stay.
func (e *editor) cutFlow(parts []part, i, run int) {
	start, end := parts[i].start, parts[run-1].end
	switch {
	case run < len(parts) && !e.hasComment(end, parts[run].start):
		end = parts[run].start
	case run == len(parts) && i > 0 && !e.hasComment(parts[i-1].end, start):
		start = parts[i-1].end
	default:
		if e.text.at(end) == ',' {
			end++
		}
		before, after := e.text.lineStart(start), bytes.TrimSpace(e.text.bytes[end:e.text.lineEnd(end)])
		if len(bytes.TrimSpace(e.text.bytes[before:start])) == 0 && (len(after) == 0 || after[0] == '#') {
			start, end = before, e.text.nextLine(end) // nothing else is on these lines
		}
	}
	e.cut(start, end, "")
}

// hasComment reports whether a comment is between two parts of a flow collection.
func (e *editor) hasComment(start, end int) bool {
	return bytes.IndexByte(e.text.between(start, end), '#') >= 0
}

// cutBlock cuts parts i to run of a block collection, by lines. If the first of them follows a dash, the next part takes its
// place, unless a comment is in between.
func (e *editor) cutBlock(parts []part, i, run int) {
	start, end := parts[i].start, parts[run-1].end
	before := e.text.bytes[e.text.lineStart(start):start]
	switch {
	case len(bytes.TrimSpace(before)) == 0:
		for _, p := range parts[i:run] { // comment lines between the parts stay
			e.cut(e.text.lineStart(p.start), e.text.nextLine(p.end), "")
		}
	case run < len(parts) && len(bytes.TrimSpace(e.text.between(end, parts[run].start))) == 0:
		e.cut(start, parts[run].start, "")
	default:
		e.cut(start-len(before)+len(bytes.TrimRight(before, " \t")), end, "")
	}
}

// replace replaces the value of a field by JSON, which is YAML in flow style. A comment stays if it is on the same line.
func (e *editor) replace(at *Place) {
	start, end := e.text.span(at.in.collection(), at.Key, at.Node)
	begins, inFlow := e.text.starts[at.Node], isFlow(at.in.collection())
	switch onOneLine := bytes.IndexByte(e.text.bytes[start:end], '\n') < 0; {
	case at.Key == nil, inFlow, onOneLine && e.text.at(begins-1) != ':':
		e.cut(begins, e.text.valueEnd(begins, inFlow), string(at.Value))
	default:
		key := start + len(at.Key.Value)
		if quote := e.text.at(start); quote == '"' || quote == '\'' {
			key = e.text.valueEnd(start, false)
		}
		e.cut(key, end, ": "+string(at.Value))
	}
	var document yaml.Node
	if yaml.Unmarshal(at.Value, &document) == nil && len(document.Content) > 0 { // else the result differs
		*at.Node = *document.Content[0]
	}
}
