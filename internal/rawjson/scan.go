package rawjson

import "bytes"

// These functions scan text that a Walker has read, and that is therefore valid JSON. They check and allocate nothing, because a
// review is searched dozens of times. For invalid text, their results are wrong, but they never fail.

// Members calls visit for each member of an object until visit returns false. The Spans are the positions of the quoted name
// and of the value. Text that is not an object has no members.
func Members(text []byte, visit func(name, value Span) (more bool)) {
	i := open(text, '{')
	for i >= 0 && i < len(text) && text[i] == '"' {
		name := Span{Start: i, End: skip(text, i)}
		i = space(text, name.End)
		if i >= len(text) || text[i] != ':' {
			return
		}
		i = space(text, i+1)
		value := Span{Start: i, End: skip(text, i)}
		if !value.Present() || !visit(name, value) {
			return
		}
		i = next(text, value.End)
	}
}

// Elements calls visit for each element of a list until visit returns false. Text that is not a list has no elements.
func Elements(text []byte, visit func(value Span) (more bool)) {
	i := open(text, '[')
	for i >= 0 && i < len(text) && text[i] != ']' {
		value := Span{Start: i, End: skip(text, i)}
		if !value.Present() || !visit(value) {
			return
		}
		i = next(text, value.End)
	}
}

// SkipSpace returns the index of the first byte from i on that is not white space.
func SkipSpace(text []byte, i int) int { return space(text, i) }

// SkipString returns the end of the string that starts at i.
func SkipString(text []byte, i int) int { return skipString(text, i) }

// Skip returns the end of the value that starts at i.
func Skip(text []byte, i int) int { return skip(text, i) }

// open returns the start of the first member or element, -1 if text is not an object or a list.
func open(text []byte, opening byte) int {
	i := space(text, 0)
	if i >= len(text) || text[i] != opening {
		return -1
	}
	return space(text, i+1)
}

// next returns the start of the member or element after a comma, -1 if there is no comma.
func next(text []byte, i int) int {
	i = space(text, i)
	if i >= len(text) || text[i] != ',' {
		return -1
	}
	return space(text, i+1)
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that starts at i.
func skip(text []byte, i int) int {
	if i >= len(text) {
		return i
	}
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	default:
		return skipScalar(text, i)
	}
}

func skipString(text []byte, i int) int {
	for from := i + 1; from < len(text); {
		quote := bytes.IndexByte(text[from:], '"')
		if quote < 0 {
			break
		}
		from += quote + 1
		if !escapedAt(text[i+1 : from-1]) {
			return from
		}
	}
	return len(text)
}

// escapedAt reports whether the character after before is escaped: it follows an odd number of backslashes.
func escapedAt(before []byte) bool {
	n := 0
	for n < len(before) && before[len(before)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func skipNested(text []byte, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			// Most strings are too short for skipString to be worth the call.
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func skipScalar(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}
