package manifest

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// written is the text of a YAML stream. Nodes record where they begin; written computes where they end.
type written struct {
	text   []byte
	starts []int // of the lines, as YAML counts them
	last   *position
}

// position is a column of a line, and its offset. Columns of one line are mostly looked up in ascending order; starting from the
// last one makes that linear for a file with a single long line.
type position struct{ line, column, offset int }

const byteOrderMark = "\ufeff"

func newWritten(text []byte) written {
	begin := 0
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		begin = len(byteOrderMark) // the parser does not count it as a column
	}
	w := written{text: text, starts: []int{begin}, last: &position{}}
	for i := begin; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r == '\r' && i < len(text) && text[i] == '\n' {
			i++
		}
		if strings.ContainsRune("\r\n\u0085\u2028\u2029", r) {
			w.starts = append(w.starts, i)
		}
	}
	return w
}

// extent returns the first and the last line of a place, counted from 1.
func (w written) extent(at *Place) (first, last int) {
	start, end := w.span(at)
	return w.line(start), w.line(end)
}

// span returns the offsets of the first and the last character of a place.
func (w written) span(at *Place) (start, end int) {
	start = w.offset(at.first())
	if at.Key == nil {
		start = w.dash(start)
	}
	switch isImplicit := at.Node.Kind == yaml.ScalarNode && at.Node.Tag == "!!null" && at.Node.Value == ""; {
	case isImplicit && at.Key == nil:
		return start, start
	case isImplicit:
		return start, w.colon(at.Key)
	case at.Key == nil:
		return start, max(start, w.end(at.Node, w.column(start)))
	default:
		return start, max(w.end(at.Node, w.column(start)), w.end(at.Key, 0))
	}
}

// colon returns the offset of the colon after a key.
func (w written) colon(key *yaml.Node) int { return w.skip(w.after(w.end(key, 0))) }

// after returns the offset after the character at an offset.
func (w written) after(at int) int {
	_, size := utf8.DecodeRune(w.text[min(at, len(w.text)):])
	return at + size
}

func (w written) line(offset int) int { return 1 + bytes.Count(w.text[:offset], []byte("\n")) }

// offset returns where a node begins. A node's column counts characters, an offset bytes.
func (w written) offset(node *yaml.Node) int {
	if node.Line < 1 || node.Line > len(w.starts) {
		return len(w.text)
	}
	at := position{node.Line, 1, w.starts[node.Line-1]}
	if w.last.line == node.Line && w.last.column <= node.Column {
		at = *w.last
	}
	for ; at.column < node.Column && at.offset < len(w.text); at.column++ {
		_, size := utf8.DecodeRune(w.text[at.offset:])
		at.offset += size
	}
	*w.last = at
	return at.offset
}

// column returns the number of characters before an offset on its line.
func (w written) column(offset int) int {
	start := bytes.LastIndexByte(w.text[:offset], '\n') + 1
	return utf8.RuneCount(w.text[start:offset])
}

// dash returns the offset of the dash before an element of a block list, or the start of the element if there is none.
func (w written) dash(start int) int {
	before := w.text[:start]
	for {
		before = bytes.TrimRight(before, " \t\r\n")
		if bytes.HasSuffix(before, []byte("-")) {
			return len(before) - 1
		}
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		comment := bytes.IndexByte(line, '#')
		if comment < 0 || comment > 0 && line[comment-1] != ' ' && line[comment-1] != '\t' {
			return start
		}
		before = before[:len(before)-len(line)+comment]
	}
}

// end returns the offset of a node's last character. Indent is the indentation of the node's key or dash.
func (w written) end(node *yaml.Node, indent int) int {
	start := w.offset(node)
	if node.Kind == yaml.AliasNode {
		return min(start+len(node.Value), len(w.text)) // the value is the name, without the asterisk
	}
	content := w.content(start, node)
	switch {
	case node.Kind == yaml.ScalarNode:
		return w.scalarEnd(node, content, indent)
	case node.Style&yaml.FlowStyle != 0:
		return w.flowEnd(node, content)
	}
	end := start
	for i, part := range node.Content {
		column := w.column(w.offset(part))
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			column = w.column(w.offset(node.Content[i-1]))
		} else if node.Kind == yaml.SequenceNode {
			column = w.column(w.dash(w.offset(part)))
		}
		end = max(end, w.end(part, column))
	}
	return end
}

// content returns the offset of a node's content, after its anchor and tag.
func (w written) content(at int, node *yaml.Node) int {
	for node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 || at < len(w.text) && (w.text[at] == '&' || w.text[at] == '!') {
		at = w.skip(at)
		if at >= len(w.text) || w.text[at] != '&' && w.text[at] != '!' {
			return at
		}
		for at < len(w.text) && !strings.ContainsRune(" \t\r\n,[]{}", rune(w.text[at])) {
			at++
		}
	}
	return w.skip(at)
}

// skip returns the next offset after spaces, line breaks and comments.
func (w written) skip(at int) int {
	for at < len(w.text) {
		switch c := w.text[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			at++
		case c == '#' && (at == 0 || strings.ContainsRune(" \t\r\n", rune(w.text[at-1]))):
			for at < len(w.text) && w.text[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func (w written) scalarEnd(node *yaml.Node, at, indent int) int {
	switch {
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return w.blockEnd(at, indent)
	case node.Style&yaml.DoubleQuotedStyle != 0:
		for at++; at < len(w.text) && w.text[at] != '"'; at++ {
			if w.text[at] == '\\' {
				at++
			}
		}
		return min(at, len(w.text))
	case node.Style&yaml.SingleQuotedStyle != 0:
		for at++; at < len(w.text); at++ {
			if w.text[at] != '\'' {
				continue
			}
			if at+1 >= len(w.text) || w.text[at+1] != '\'' {
				return at
			}
			at++
		}
		return len(w.text)
	default:
		return w.plainEnd(node, at)
	}
}

// plainEnd returns the end of a plain scalar. Its text equals its value except for spaces and line breaks; it is empty for an
// implicit null and for a value from a merge key.
func (w written) plainEnd(node *yaml.Node, at int) int {
	last := w.offset(node)
	for _, r := range strings.Join(strings.Fields(node.Value), "") {
		for at < len(w.text) && strings.ContainsRune(" \t\r\n", rune(w.text[at])) {
			at++
		}
		is, size := utf8.DecodeRune(w.text[min(at, len(w.text)):])
		if is != r {
			return last
		}
		last, at = at, at+size
	}
	return last
}

// blockEnd returns the end of a block scalar: the last non-empty line that is indented further than its key.
func (w written) blockEnd(at, indent int) int {
	last := at
	for at < len(w.text) {
		next := bytes.IndexByte(w.text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
		line, _, _ := bytes.Cut(w.text[at:], []byte("\n"))
		content := bytes.TrimLeft(line, " ")
		switch {
		case len(bytes.TrimSpace(content)) == 0:
			continue
		case len(line)-len(content) <= indent:
			return last
		}
		last = at + len(line) - 1
	}
	return last
}

// flowEnd returns the offset of the closing bracket of a flow sequence or mapping.
func (w written) flowEnd(node *yaml.Node, at int) int {
	at++ // the opening bracket
	for _, part := range node.Content {
		if begins := w.offset(part); begins >= at {
			at = w.end(part, 0) + 1
		}
	}
	for at < len(w.text) && w.text[at] != ']' && w.text[at] != '}' {
		if next := w.skip(at); next > at {
			at = next
			continue
		}
		at++
	}
	return min(at, len(w.text))
}
