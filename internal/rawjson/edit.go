package rawjson

import (
	"bytes"
	"slices"
	"strings"
)

// Check walks a whole text and returns why it is not one valid JSON value, or nil.
func Check(text []byte) error { return CheckWithin(0, text) }

// CheckWithin is Check for a text that depth objects and lists will contain, which count toward the limit of nesting.
func CheckWithin(depth int, text []byte) error {
	w := Walker{text: text, depth: depth}
	if _, err := w.Value(); err != nil {
		return err
	}
	return w.End()
}

// Find returns the position of the value at a path of names, or the zero Span if a name is missing or a parent is not an object.
// It does not read beyond the value. The text must have passed a Walker before.
func Find(text []byte, names ...string) Span {
	return find(text, names).value
}

// memberSpan is the position of a member in its object.
type memberSpan struct {
	name, value Span
}

// find is Find with the position of the name. It does not determine where the values of parents end.
func find(text []byte, names []string) memberSpan {
	at := memberSpan{value: Span{Start: space(text, 0)}}
	for _, name := range names {
		if at = member(text, at.value.Start, name); at.value.Start == 0 {
			return memberSpan{}
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

// member returns the positions of a member's name and of the start of its value, in the object that starts at i.
func member(text []byte, i int, name string) memberSpan {
	return memberWhere(text, i, func(is []byte) bool { return string(is) == name })
}

func memberWhere(text []byte, i int, isName func([]byte) bool) memberSpan {
	if i >= len(text) || text[i] != '{' {
		return memberSpan{}
	}
	for i = space(text, i+1); i >= 0 && i < len(text) && text[i] == '"'; {
		quoted := Span{Start: i, End: skipString(text, i)}
		i = space(text, quoted.End)
		if i >= len(text) || text[i] != ':' {
			return memberSpan{}
		}
		i = space(text, i+1)
		if isName(Name(quoted.Of(text))) {
			return memberSpan{name: quoted, value: Span{Start: i}}
		}
		i = next(text, skip(text, i))
	}
	return memberSpan{}
}

// Cut returns the text without the member at a path of names, and without the comma and the white space that separate it from
// the others. Nothing else changes. If there is no such member, it returns text itself. The text must have passed a Walker
// before.
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

// cutStart returns the start of the text to cut: the member's name or, for the last of several members, the comma before it.
func (p memberSpan) cutStart(text []byte) int {
	if nextByte(text[p.value.End:]) == ',' {
		return p.name.Start
	}
	before := bytes.TrimRight(text[:p.name.Start], " \t\r\n")
	if before[len(before)-1] == ',' {
		return len(before) - 1
	}
	return p.name.Start
}

// cutEnd returns the end of the text to cut: if a comma follows the member, after the comma and the white space that follows it.
func (p memberSpan) cutEnd(text []byte) int {
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

// CutElement returns the text of a list without the element at an index, as Cut does for members.
func CutElement(text []byte, index int) []byte {
	var at memberSpan
	n := 0
	Elements(text, func(value Span) bool {
		if n == index {
			at = memberSpan{name: Span{Start: value.Start, End: value.Start}, value: value}
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

// DefaultProtocol is the protocol that the API server sets for a port without one (k8s.io/api/core/v1, ServicePort).
const DefaultProtocol = "TCP"

// KeyDefault returns the value of a list element's key field that the element lacks, nil if there is none.
func KeyDefault(name string) []byte {
	if name == "protocol" {
		return []byte(`"` + DefaultProtocol + `"`)
	}
	return nil
}
