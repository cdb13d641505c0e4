package rawjson

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Check returns an error if a text is not exactly one valid JSON value.
func Check(text []byte) error {
	if jsontext.Value(text).IsValid() {
		return nil // uses a pooled decoder; only the error needs a Walker
	}
	w := Walk(text)
	if _, err := w.Value(); err != nil {
		return err
	}
	return w.End()
}

// Find returns the position of the value at the path names, from the outermost object inwards. The Span is empty if a name is
// missing or its parent is not an object. The text must be valid JSON: Find does not read what follows the value.
func Find(text []byte, names ...string) Span {
	return find(text, names).value
}

// place is the position of a member.
type place struct {
	name, value Span
}

// find follows the names without looking for the ends of the objects on the way.
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

// member returns the position of a member's name and the start of its value, in the object that starts at i.
func member(text []byte, i int, name string) place {
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
		if string(Name(quoted.Of(text))) == name {
			return place{name: quoted, value: Span{Start: i}}
		}
		i = next(text, skip(text, i))
	}
	return place{}
}

// Cut returns the text without the member at the path names. Only the member, its comma and the white space around it are
// removed. If there is no such member, Cut returns text itself. The text must be valid JSON.
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

// cutEnd returns the end of the text to cut: after the following comma and white space, if there is a comma.
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

// CutElement returns the text of a list without the element at index. Like Cut, it changes nothing else.
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

// EscapePointer returns a name as a reference token of a JSON pointer (RFC 6901).
func EscapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// EqualBut reports whether two texts are equal outside the given spans. The spans must be sorted and must not overlap. If their
// numbers differ, EqualBut returns false.
func EqualBut(a []byte, inA []Span, b []byte, inB []Span) bool {
	if len(inA) != len(inB) {
		return false
	}
	fromA, fromB := 0, 0
	for i := range inA {
		if !bytes.Equal(a[fromA:inA[i].Start], b[fromB:inB[i].Start]) {
			return false
		}
		fromA, fromB = inA[i].End, inB[i].End
	}
	return bytes.Equal(a[fromA:], b[fromB:])
}
