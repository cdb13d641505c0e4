package manifest

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is the text of a YAML stream. Nodes record where they begin, as line and column; text computes offsets and where they end.
type text struct {
	bytes  []byte
	starts map[*yaml.Node]int // the offsets at which nodes begin
}

// lineBreak is what YAML counts as a line break.
var lineBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

func newText(content []byte, documents []*yaml.Node) text {
	t := text{bytes: content, starts: map[*yaml.Node]int{}}
	breaks := lineBreak.FindAllIndex(content, -1)
	// Columns count characters. Nodes are visited in the order of the text: a single long line is read once.
	line, column, offset := 0, 0, 0
	for _, document := range documents {
		each(document, func(node *yaml.Node) {
			if node.Line != line || node.Column < column {
				line, column, offset = node.Line, 1, 0
				if n := line - 2; n >= 0 && n < len(breaks) {
					offset = breaks[n][1]
				}
			}
			for ; column < node.Column && offset < len(content); column++ {
				_, size := utf8.DecodeRune(content[offset:])
				offset += size
			}
			t.starts[node] = offset
		})
	}
	return t
}

func isFlow(node *yaml.Node) bool { return node.Style&yaml.FlowStyle != 0 }

// span returns the offsets at which a part of a mapping or, without a key, an element of a sequence begins, with its key or dash, and ends.
func (t text) span(parent, key, node *yaml.Node) (start, end int) {
	start = t.starts[node]
	if key != nil {
		start = t.starts[key]
	}
	if isFlow(parent) {
		return start, t.valueEnd(start, true)
	}
	if key == nil {
		start = t.dash(parent, start)
	}
	return start, t.blockEnd(start, t.starts[node], key != nil)
}

// dash returns the offset of the dash before an element of a block list: the dashes are in the list's column, and comments can follow
// them. It is the start of the element if there is none, as after an anchor of the list.
func (t text) dash(list *yaml.Node, start int) int {
	for line := t.lineStart(start); ; line = t.lineStart(line - 1) {
		switch at := line + list.Column - 1; {
		case at < start && t.bytes[at] == '-':
			return at
		case line <= t.starts[list]:
			return start
		}
	}
}

// blockEnd returns the end of a part of a block collection: it consists of its line and those that are indented further or, in a
// quoted or flow value, belong to the value. An empty line or a comment at the end that is not indented further does not belong to it.
// Elements of a list can have the indentation of the field.
func (t text) blockEnd(start, value int, isField bool) (end int) {
	indent := start - t.lineStart(start)
	end = t.lineEnd(start)
	if isEnclosed(t.at(value)) {
		end = t.lineEnd(t.valueEnd(value, false))
	}
	for at := t.nextLine(end); at < len(t.bytes); at = t.nextLine(at) {
		line := t.bytes[at:t.lineEnd(at)]
		content := bytes.TrimLeft(line, " \t")
		margin := len(line) - len(content)
		isElement := isField && margin == indent && (bytes.HasPrefix(content, []byte("- ")) || string(content) == "-")
		switch {
		case margin > indent && len(content) > 0, isElement:
			end = at + len(line)
		case len(content) > 0 && content[0] != '#':
			return end
		}
	}
	return end
}

// isEnclosed reports whether a value that begins with a character is a quoted scalar or a flow collection.
func isEnclosed(first byte) bool { return strings.IndexByte(`"'[{`, first) >= 0 }

// token matches a part of a value in a flow collection: a quoted scalar, space with a comment, an indicator, or a part of a plain
// scalar.
var token = regexp.MustCompile(`^("(\\.|[^"\\])*"|'(''|[^'])*'|\s+(#.*)?|[][{},:]|[^][{},:\s"'][^][{},:\s]*|.)`)

// lineEnding matches the end of a line, with a comment.
var lineEnding = regexp.MustCompile(`\s*(\s#.*)?$`)

// valueEnd returns the end of a value: in a flow collection that before the next comma or closing bracket, otherwise that on
// its line, without a comment.
func (t text) valueEnd(start int, inFlow bool) (end int) {
	if !inFlow && !isEnclosed(t.at(start)) {
		return start + lineEnding.FindIndex(t.bytes[start:t.lineEnd(start)])[0]
	}
	end = start
	for at, depth := start, 0; at < len(t.bytes) && (inFlow || depth > 0 || at == start); {
		first := t.bytes[at]
		at += len(token.Find(t.bytes[at:]))
		switch {
		case strings.IndexByte(" \t\r\n", first) >= 0:
			continue
		case first == '[' || first == '{':
			depth++
		case depth == 0 && (first == ',' || first == ']' || first == '}'):
			return end
		case first == ']' || first == '}':
			depth--
		}
		end = at
	}
	return end
}

// between returns the text between two offsets, nothing if a malformed part seems to end after the next one begins: then Apply fails.
func (t text) between(start, end int) []byte { return t.bytes[start:max(start, end)] }

// at returns the byte at an offset, 0 at the end.
func (t text) at(offset int) byte {
	if offset < len(t.bytes) {
		return t.bytes[offset]
	}
	return 0
}

func (t text) lineStart(at int) int { return bytes.LastIndexByte(t.bytes[:at], '\n') + 1 }

// lineEnd returns the end of the line at an offset, before its line break.
func (t text) lineEnd(at int) int {
	line, _, _ := bytes.Cut(t.bytes[at:], []byte("\n"))
	return at + len(bytes.TrimSuffix(line, []byte("\r")))
}

// nextLine returns the end of the line at an offset, after its line break.
func (t text) nextLine(at int) int {
	line, _, found := bytes.Cut(t.bytes[at:], []byte("\n"))
	if found {
		return at + len(line) + 1
	}
	return len(t.bytes)
}
