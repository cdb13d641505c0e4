package rawjson

import (
	"bytes"
	"slices"
	"strings"
)

// Check walks a whole text and returns why it is not one valid JSON value, or nil.
func Check(text []byte) error { return CheckWithin(0, text) }

// CheckWithin is Check for a text that depth objects and lists are to contain, which count for the limit of nesting.
func CheckWithin(depth int, text []byte) error {
	w := Walker{text: text, depth: depth}
	if _, err := w.Value(); err != nil {
		return err
	}
	return w.End()
}

// Find returns where the value stands that the names lead to, from the outermost object inwards. The Span is empty when
// there is none: a name is missing, or what should hold it is no object. The text must have passed a Walker before: what
// follows the value is not looked at.
func Find(text []byte, names ...string) Span {
	return find(text, names).value
}

// place is where a member stands in its object.
type place struct {
	name, value Span
}

// find goes inwards without looking where the values end that it goes through.
func find(text []byte, names []string) place {
	at := place{value: Span{Start: space(text, 0)}}
	for _, name := range names {
		if at = member(text, at.value.Start, name); at.value.Start == 0 {
			return place{}
		}
	}
	at.value.End = skip(text, at.value.Start)
	return at
}

// FindPrefixed is Find for one name, given in two parts.
func FindPrefixed(text []byte, prefix, name string) Span {
	at := memberWhere(text, space(text, 0), func(is []byte) bool {
		return len(is) == len(prefix)+len(name) && string(is[:len(prefix)]) == prefix && string(is[len(prefix):]) == name
	}).value
	if at.Start > 0 {
		at.End = skip(text, at.Start)
	}
	return at
}

// member returns where a member's name and the start of its value stand in the object that starts at i.
func member(text []byte, i int, name string) place {
	return memberWhere(text, i, func(is []byte) bool { return string(is) == name })
}

func memberWhere(text []byte, i int, isName func([]byte) bool) place {
	if i >= len(text) || text[i] != '{' {
		return place{}
	}
	for i = space(text, i+1); i >= 0 && i < len(text) && text[i] == '"'; {
		quoted := Span{Start: i, End: skipString(text, i)}
		i = space(text, quoted.End)
		if i >= len(text) || text[i] != ':' {
			return place{}
		}
		i = space(text, i+1)
		if isName(Name(quoted.Of(text))) {
			return place{name: quoted, value: Span{Start: i}}
		}
		i = next(text, skip(text, i))
	}
	return place{}
}

// Cut returns the text without the member that the names lead to, and nothing else changed: the member goes with the
// comma and the white space that set it apart. The result is text itself when there is no such member. The text must
// have passed a Walker before.
func Cut(text []byte, names ...string) []byte {
	if len(names) == 0 {
		return text
	}
	at := find(text, names)
	if !at.value.Present() {
		return text
	}
	return slices.Concat(text[:at.cutStart(text)], text[at.cutEnd(text):])
}

// cutStart is where the member's own text starts: at its name or, for the last of several, at the comma before it.
func (p place) cutStart(text []byte) int {
	if nextByte(text[p.value.End:]) == ',' {
		return p.name.Start
	}
	before := bytes.TrimRight(text[:p.name.Start], " \t\r\n")
	if before[len(before)-1] == ',' {
		return len(before) - 1
	}
	return p.name.Start
}

// cutEnd is where what follows the member starts: after the comma and the white space behind it, if it has one.
func (p place) cutEnd(text []byte) int {
	after := text[p.value.End:]
	if nextByte(after) != ',' {
		return p.value.End
	}
	after = after[bytes.IndexByte(after, ',')+1:]
	return len(text) - len(bytes.TrimLeft(after, " \t\r\n"))
}

func nextByte(text []byte) byte {
	if rest := bytes.TrimLeft(text, " \t\r\n"); len(rest) > 0 {
		return rest[0]
	}
	return 0
}

// CutElement returns the text of a list without the element at index, and nothing else changed, as Cut does for members.
func CutElement(text []byte, index int) []byte {
	var at place
	n := 0
	Elements(text, func(value Span) bool {
		if n == index {
			at = place{name: Span{Start: value.Start, End: value.Start}, value: value}
		}
		n++
		return n <= index
	})
	if !at.value.Present() {
		return text
	}
	return slices.Concat(text[:at.cutStart(text)], text[at.cutEnd(text):])
}

// EscapePointer returns a name as a step of a JSON pointer (RFC 6901).
func EscapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
