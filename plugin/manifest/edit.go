package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Edit is a change of one place: its removal or, if Value is set, its replacement by that JSON value.
type Edit struct {
	Place *Place
	Value []byte
}

// Apply returns the text of the file after edits, and changes nothing else. It parses the result and compares it with the parsed
// file: if anything but the places differs, it returns an error. Places must not be nested in each other, and must not be
// removed if IsShared reports true.
func (s *Stream) Apply(edits []Edit) ([]byte, error) {
	if len(edits) == 0 {
		return s.written.text, nil
	}
	e := editor{
		source: s.written, removed: map[*yaml.Node]bool{}, replaced: map[*yaml.Node][]byte{}, parents: map[*yaml.Node]bool{},
	}
	if err := e.add(edits); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	for _, edit := range edits {
		if edit.Value != nil {
			e.replace(edit)
		} else if parent := resolve(edit.Place.in.Node); !e.parents[parent] {
			e.parents[parent] = true
			e.removeFrom(parent)
		}
	}
	text, err := e.text()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return text, e.verify(s, text)
}

// editor computes the parts of a text to cut or replace.
type editor struct {
	source   written
	removed  map[*yaml.Node]bool
	replaced map[*yaml.Node][]byte
	parents  map[*yaml.Node]bool // whose children have been removed
	cuts     []cut
}

// add checks and records the edits.
func (e *editor) add(edits []Edit) error {
	checked := map[*yaml.Node]bool{}
	for _, edit := range edits {
		if edit.Value == nil {
			e.removed[edit.Place.Node] = true
		} else {
			e.replaced[edit.Place.Node] = edit.Value
		}
		for at := edit.Place; at.in != nil; at = at.in {
			parent := resolve(at.in.Node)
			if checked[parent] {
				break
			}
			checked[parent] = true
			if twice := duplicate(parent); twice != nil {
				return fmt.Errorf("line %d: the field is set twice in the same object; remove one of them", twice.Line)
			}
		}
		if key := edit.Place.Key; key != nil && edit.Value == nil {
			if _, merged := mergedMember(resolve(edit.Place.in.Node), key.Value, map[*yaml.Node]bool{}); merged != nil {
				return fmt.Errorf("line %d: the field is also set through an anchor; %s", key.Line, remedy)
			}
		}
	}
	return nil
}

// duplicate returns a key that a mapping contains twice, or nil.
func duplicate(mapping *yaml.Node) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	seen := map[string]bool{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind == yaml.ScalarNode && seen[key.Value] && key.Tag != mergeTag {
			return key
		}
		seen[key.Value] = true
	}
	return nil
}

// cut is a part of the text and its replacement.
type cut struct {
	start, end int // end is exclusive
	text       string
}

func (e *editor) cut(start, end int, text string) { e.cuts = append(e.cuts, cut{start, end, text}) }

// part is a field of a mapping or an element of a sequence.
type part struct {
	start, end int // end is exclusive
	removed    bool
}

func (e *editor) partsOf(parent *yaml.Node) (parts []part) {
	add := func(at Place) {
		start, end := e.source.span(&at)
		parts = append(parts, part{start, e.source.after(end), e.removed[at.Node]})
	}
	if parent.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(parent.Content); i += 2 {
			add(Place{Key: parent.Content[i], Node: parent.Content[i+1]})
		}
		return parts
	}
	for _, element := range parent.Content {
		add(Place{Node: element})
	}
	return parts
}

// removeFrom cuts the removed children of a mapping or sequence: each run of removed neighbors together with the separators.
func (e *editor) removeFrom(parent *yaml.Node) {
	parts := e.partsOf(parent)
	isFlow := parent.Style&yaml.FlowStyle != 0
	for i := 0; i < len(parts); i++ {
		if !parts[i].removed {
			continue
		}
		run := i + 1
		for run < len(parts) && parts[run].removed {
			run++
		}
		if isFlow {
			e.cutFlow(parts, i, run)
		} else {
			e.cutBlock(parts, i, run)
		}
		i = run - 1
	}
}

// cutFlow cuts parts i to run of a flow collection, with the comma after them or, if they are the last, with the one before.
// Comments between the parts stay, which JSON does not have: the comma before can then stay as well.
func (e *editor) cutFlow(parts []part, i, run int) {
	text := e.source.text
	start, end := parts[i].start, parts[run-1].end
	comma := e.source.skip(end)
	hasComma := comma < len(text) && text[comma] == ','
	switch {
	case run < len(parts) && !bytes.ContainsRune(text[comma:parts[run].start], '#'):
		e.cut(start, parts[run].start, "")
	case run == len(parts) && i > 0 && !bytes.ContainsRune(text[parts[i-1].end:start], '#'):
		e.cut(parts[i-1].end, end, "")
	case hasComma && !bytes.ContainsRune(text[end:comma], '#'):
		e.cutLine(start, comma+1)
	default:
		e.cutLine(start, end)
	}
}

// cutLine cuts a part of a line, or the whole line if it contains nothing else but a comment.
func (e *editor) cutLine(start, end int) {
	text := e.source.text
	lineStart, lineEnd := bytes.LastIndexByte(text[:start], '\n')+1, e.nextLine(end)
	rest := bytes.TrimSpace(text[end:lineEnd])
	if len(bytes.TrimSpace(text[lineStart:start])) == 0 && (len(rest) == 0 || rest[0] == '#') {
		start, end = lineStart, lineEnd
	}
	e.cut(start, end, "")
}

// cutBlock cuts parts i to run of a block collection, by lines. If the first of them follows a dash, the next part takes its
// place, unless a comment is in between.
func (e *editor) cutBlock(parts []part, i, run int) {
	text := e.source.text
	start, end := parts[i].start, parts[run-1].end
	lineStart := bytes.LastIndexByte(text[:start], '\n') + 1
	if lineStart == 0 && bytes.HasPrefix(text, []byte(byteOrderMark)) {
		lineStart = len(byteOrderMark)
	}
	if len(bytes.TrimLeft(text[lineStart:start], " \t")) == 0 {
		for ; i < run; i++ { // comment lines between the parts stay
			first := bytes.LastIndexByte(text[:parts[i].start], '\n') + 1
			e.cut(max(first, lineStart), e.nextLine(parts[i].end), "")
		}
		return
	}
	if run == len(parts) {
		e.cut(start, e.lineEnd(end), "")
		return
	}
	if next := parts[run].start; len(bytes.TrimSpace(text[end:next])) == 0 {
		e.cut(start, next, "")
		return
	}
	e.cut(lineStart+len(bytes.TrimRight(text[lineStart:start], " \t")), e.lineEnd(end), "")
}

// nextLine returns the end of the line at an offset, after its line break.
func (e *editor) nextLine(at int) int {
	if next := bytes.IndexByte(e.source.text[at:], '\n'); next >= 0 {
		return at + next + 1
	}
	return len(e.source.text)
}

// lineEnd returns the end of the line at an offset, before its line break.
func (e *editor) lineEnd(at int) int {
	end := e.nextLine(at)
	line := e.source.text[at:end]
	return at + len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
}

// replace replaces the value of a field by JSON, which is YAML in flow style.
func (e *editor) replace(edit Edit) {
	at := edit.Place
	start, end := e.source.span(at)
	end = e.source.after(end)
	begins := e.source.offset(at.Node)
	if at.Key == nil || at.Node.Kind == yaml.ScalarNode && at.Node.Line == at.Key.Line && begins < end && begins > start {
		e.cut(begins, end, string(edit.Value))
		return
	}
	colon := e.source.colon(at.Key)
	e.cut(colon+1, max(end, colon+1), " "+string(edit.Value))
}

var errOverlap = errors.New("fields overlap")

// text returns the text with the cuts made.
func (e *editor) text() ([]byte, error) {
	slices.SortStableFunc(e.cuts, func(a, b cut) int { return cmp.Compare(a.start, b.start) })
	var text bytes.Buffer
	at := 0
	for _, c := range e.cuts {
		if c.start < at || c.end < c.start || c.end > len(e.source.text) {
			return nil, fmt.Errorf("%w; %s", errOverlap, remedy)
		}
		text.Write(e.source.text[at:c.start])
		text.WriteString(c.text)
		at = c.end
	}
	text.Write(e.source.text[at:])
	return text.Bytes(), nil
}

const remedy = "write the object in block style, with one field on a line and without anchors"
