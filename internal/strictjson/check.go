package strictjson

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Checker checks values in texts. It accepts what Scanner and jsontext accept, and is several times as fast, because it returns
// positions only. The zero Checker is ready to use.
type Checker struct {
	names [][]byte // of the objects that contain the current position, in the order in which they were read
}

// maxRetained is up to how many names Reset retains the memory. The next text most likely has fewer.
const maxRetained = 256

// Reset releases the texts that were checked, and retains a little memory for the next one.
func (c *Checker) Reset() {
	if cap(c.names) > maxRetained {
		c.names = nil
	}
	clear(c.names[:cap(c.names)])
	c.names = c.names[:0]
}

// Names are the names of one object that is being read.
type Names struct {
	first    int
	unsorted bool
}

// Begin begins an object.
func (c *Checker) Begin() Names {
	if c.names == nil {
		c.names = make([][]byte, 0, 32)
	}
	return Names{first: len(c.names)}
}

// Name reads the name of a member of the innermost object, which starts at i. It returns the end of the name, -1 if it is
// invalid.
func (c *Checker) Name(n *Names, text []byte, i int) (end int) {
	end, escaped := stringEnd(text, i)
	if end < 0 {
		return -1
	}
	name := text[i+1 : end-1 : end-1]
	if escaped {
		name = canonical(text[i:end])
	}
	if last := len(c.names) - 1; last >= n.first && bytes.Compare(c.names[last], name) >= 0 {
		n.unsorted = true
	}
	c.names = append(c.names, name)
	return end
}

// canonical returns the text of a valid JSON string without the quotes, with no escapes but \" and \\. Two such texts are equal
// if the strings are. The keys of list elements in managedFields, which are frequent, are returned without a copy.
func canonical(quoted []byte) []byte {
	name := quoted[1 : len(quoted)-1]
	for i := bytes.IndexByte(name, '\\'); i >= 0 && i < len(name); i++ {
		if name[i] != '\\' {
			continue
		}
		i++
		if name[i] == '"' || name[i] == '\\' {
			continue
		}
		plain, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return name
		}
		return bytes.ReplaceAll(bytes.ReplaceAll(plain, []byte(`\`), []byte(`\\`)), []byte(`"`), []byte(`\"`))
	}
	return name
}

// End ends the innermost object, and reports whether its names are unique. Sorted names, as API servers write most of them, were
// compared when they were added.
func (c *Checker) End(n Names) (unique bool) {
	names := c.names[n.first:]
	c.names = c.names[:n.first]
	return !n.unsorted || areUnique(names)
}

// fewNames is up to how many names are compared in pairs.
const fewNames = 16

func areUnique(names [][]byte) bool {
	if len(names) > fewNames {
		slices.SortFunc(names, bytes.Compare)
		for i := 1; i < len(names); i++ {
			if bytes.Equal(names[i], names[i-1]) {
				return false
			}
		}
		return true
	}
	for i, name := range names {
		for _, other := range names[:i] {
			if bytes.Equal(name, other) {
				return false
			}
		}
	}
	return true
}

// Value returns the end of the value that starts at i, -1 if it is invalid. depth is the number of objects and lists that contain
// the value.
func (c *Checker) Value(text []byte, i, depth int) (end int) {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		end, _ = stringEnd(text, i)
		return end
	case '{':
		return c.object(text, i, depth+1)
	case '[':
		return c.list(text, i, depth+1)
	case 't':
		return literal(text, i, "true")
	case 'f':
		return literal(text, i, "false")
	case 'n':
		return literal(text, i, "null")
	default:
		return numberEnd(text, i)
	}
}

func (c *Checker) object(text []byte, i, depth int) (end int) {
	if i = Space(text, i+1); depth > maxDepth || i >= len(text) {
		return -1
	}
	if text[i] == '}' {
		return i + 1
	}
	names := c.Begin()
	for {
		if i = c.Name(&names, text, i); i < 0 {
			return -1
		}
		if i = Space(text, i); i >= len(text) || text[i] != ':' {
			return -1
		}
		if i = c.Value(text, Space(text, i+1), depth); i < 0 {
			return -1
		}
		var more bool
		if i, more = separator(text, i, '}'); more {
			continue
		}
		if i < 0 || !c.End(names) {
			return -1
		}
		return i
	}
}

func (c *Checker) list(text []byte, i, depth int) (end int) {
	if i = Space(text, i+1); depth > maxDepth || i >= len(text) {
		return -1
	}
	if text[i] == ']' {
		return i + 1
	}
	for {
		if i = c.Value(text, i, depth); i < 0 {
			return -1
		}
		var more bool
		if i, more = separator(text, i, ']'); !more {
			return i
		}
	}
}

// separator reads what follows a member or an element at i. If it is a comma, more is true, and next is the start of the next
// one. If it is the closing character, next is the index after it; -1 if it is anything else.
func separator(text []byte, i int, closing byte) (next int, more bool) {
	i = Space(text, i)
	switch {
	case i < len(text) && text[i] == ',':
		return Space(text, i+1), true
	case i < len(text) && text[i] == closing:
		return i + 1, false
	default:
		return -1, false
	}
}

// Space returns the index of the first byte from i on that is not white space.
func Space(text []byte, i int) int {
	for i < len(text) && text[i] <= ' ' && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the end of the string that starts at i, -1 if there is no valid string.
func stringEnd(text []byte, i int) (end int, escaped bool) {
	if i >= len(text) || text[i] != '"' {
		return -1, false
	}
	for i++; ; {
		if i = plain(text, i); i >= len(text) {
			return -1, escaped
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			n := escape(text[i:])
			if n == 0 {
				return -1, true
			}
			i, escaped = i+n, true
		case c < ' ':
			return -1, escaped
		default:
			r, n := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && n == 1 {
				return -1, escaped
			}
			i += n
		}
	}
}

func literal(text []byte, i int, word string) (end int) {
	if end = i + len(word); end > len(text) || string(text[i:end]) != word {
		return -1
	}
	return end
}

func numberEnd(text []byte, i int) (end int) {
	if i < len(text) && text[i] == '-' {
		i++
	}
	start := i
	if i = digitsEnd(text, i); i == start || i > start+1 && text[start] == '0' {
		return -1
	}
	if i < len(text) && text[i] == '.' {
		start = i + 1
		if i = digitsEnd(text, start); i == start {
			return -1
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		return exponentEnd(text, i+1)
	}
	return i
}

func exponentEnd(text []byte, i int) (end int) {
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	if end = digitsEnd(text, i); end == i {
		return -1
	}
	return end
}

func digitsEnd(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}
