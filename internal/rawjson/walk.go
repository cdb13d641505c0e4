// Package rawjson finds, replaces and cuts members of JSON text without decoding it. It serves the hot path of the webhook, which
// reads a review once and does not decode most of it.
package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/strictjson"
)

// Span is the position of a value in a text. The zero Span means that there is no value.
type Span struct{ Start, End int }

// Present reports whether there is a value.
func (s Span) Present() bool { return s.End > s.Start }

// From returns the Span relative to a text in which the Span's own text starts at start.
func (s Span) From(start int) Span { return Span{Start: s.Start + start, End: s.End + start} }

// Of returns the text of the value without a copy, nil if there is no value.
func (s Span) Of(text []byte) []byte {
	if !s.Present() {
		return nil
	}
	return text[s.Start:s.End:s.End]
}

// Walker reads one JSON value from front to back. It rejects text that RFC 8259 and RFC 7493 do not allow, such as duplicate
// names and invalid UTF-8, and, like jsontext, more than 10,000 levels of nesting. It does not copy the text. The zero Walker can
// be Reset.
type Walker struct {
	text    []byte
	depth   int // number of objects and lists that contain the text
	pos     int
	last    Span // of the value that was stepped over last
	check   strictjson.Checker
	trusted bool // the text was read before
	entered []entered
}

// entered is an object or a list that contains the current position.
type entered struct {
	names strictjson.Names
	start int
	begun bool // a member or an element was read
}

// maxDepth is the limit of jsontext.
const maxDepth = 10000

var errSyntax = errors.New("invalid JSON")

// Walk returns a Walker at the start of text.
func Walk(text []byte) *Walker { return &Walker{text: text} }

// WalkChecked is like Walk, for text that a Walker has already read: it does not check it again.
func WalkChecked(text []byte) *Walker { return &Walker{text: text, trusted: true} }

// Reset moves the Walker to the start of another text, which depth objects and lists contain, and reuses its memory.
func (w *Walker) Reset(text []byte, depth int) {
	w.check.Reset()
	*w = Walker{text: text, depth: depth, check: w.check, entered: w.entered[:0]}
}

// Depth returns the number of objects and lists that contain the next value.
func (w *Walker) Depth() int { return w.depth + len(w.entered) }

// Text returns the whole text. Spans refer to it.
func (w *Walker) Text() []byte { return w.text }

// Rest returns the text from the next value on.
func (w *Walker) Rest() []byte {
	w.pos = strictjson.Space(w.text, w.pos)
	return w.text[w.pos:]
}

// Skip steps over the first n bytes of Rest, which the caller has read as the next value.
func (w *Walker) Skip(n int) {
	w.last = Span{Start: w.pos, End: w.pos + n}
	w.pos += n
}

// Kind returns the kind of the next value (strictjson.KindOf), 0 if there is none.
func (w *Walker) Kind() jsontext.Kind {
	rest := w.Rest()
	if len(rest) == 0 {
		return 0
	}
	return strictjson.KindOf(rest[0])
}

// Value reads one value and returns its position.
func (w *Walker) Value() (Span, error) {
	start := strictjson.Space(w.text, w.pos)
	var end int
	if w.trusted {
		end = skip(w.text, start)
	} else {
		end = w.check.Value(w.text, start, w.Depth())
	}
	if end <= start {
		return Span{}, w.problem()
	}
	w.pos, w.last = end, Span{Start: start, End: end}
	return w.last, nil
}

// problem returns the reason why the text is invalid.
func (w *Walker) problem() error {
	dec := jsontext.NewDecoder(bytes.NewReader(w.text))
	if _, err := dec.ReadValue(); err != nil {
		return problem("reading a value", err)
	}
	return fmt.Errorf("reading a value: %w, after byte %d", errSyntax, w.pos)
}

// problem returns an error with the reason and the position, but without the names and characters that the library quotes:
// the text can contain secrets, and errors are logged.
func problem(doing string, err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) || syntax.Err == nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	why := syntax.Err.Error()
	if quote := strings.IndexAny(why, "`'\""); quote >= 0 {
		why = strings.TrimSpace(why[:quote])
	}
	return fmt.Errorf("%s: %s, after byte %d", doing, why, syntax.ByteOffset)
}

// Last returns the position of the last value that was read.
func (w *Walker) Last() Span { return w.last }

// String reads one value and returns it; ok is false if it is not a string.
func (w *Walker) String() (s string, ok bool, err error) {
	span, err := w.Value()
	if err != nil {
		return "", false, err
	}
	s, ok = Unquote(span.Of(w.text))
	return s, ok, nil
}

// Enter enters the next value if it is an object or a list, as opening says ('{' or '['). Otherwise it reads the value, and
// isEntered is false. The members or elements are then read with Member or Element, which leave the object or list at its end.
func (w *Walker) Enter(opening byte) (isEntered bool, err error) {
	start := strictjson.Space(w.text, w.pos)
	if start >= len(w.text) || w.text[start] != opening {
		_, err := w.Value()
		return false, err
	}
	if w.Depth() == maxDepth {
		return false, w.problem()
	}
	w.entered = append(w.entered, entered{names: w.check.Begin(), start: start})
	w.pos = start + 1
	return true, nil
}

// Member reads the name of the next member of the object that was entered. If there is none, it leaves the object, and ok is
// false. Otherwise the caller must read the value. The name is valid until then.
func (w *Walker) Member() (name []byte, ok bool, err error) {
	if ok, err = w.next('}'); !ok || err != nil {
		return nil, false, err
	}
	start := w.pos
	end := -1
	if w.trusted && start < len(w.text) {
		end = skip(w.text, start)
	} else if !w.trusted {
		end = w.check.Name(&w.entered[len(w.entered)-1].names, w.text, start)
	}
	if end < 0 {
		return nil, false, w.problem()
	}
	colon := strictjson.Space(w.text, end)
	if colon >= len(w.text) || w.text[colon] != ':' {
		return nil, false, w.problem()
	}
	w.pos = colon + 1
	return Name(w.text[start:end]), true, nil
}

// Element moves to the next element of the list that was entered, and reports whether there is one. If not, it leaves the list.
func (w *Walker) Element() (ok bool, err error) { return w.next(']') }

// next moves to the next member or element, or leaves the object or list at its closing character.
func (w *Walker) next(closing byte) (ok bool, err error) {
	in := &w.entered[len(w.entered)-1]
	i := strictjson.Space(w.text, w.pos)
	switch {
	case i >= len(w.text):
		return false, w.problem()
	case w.text[i] == closing:
		names, start := in.names, in.start
		w.entered = w.entered[:len(w.entered)-1]
		if !w.check.End(names) {
			return false, w.problem()
		}
		w.pos, w.last = i+1, Span{Start: start, End: i + 1}
		return false, nil
	case in.begun:
		if w.text[i] != ',' {
			return false, w.problem()
		}
		i = strictjson.Space(w.text, i+1)
	}
	in.begun, w.pos = true, i
	return true, nil
}

// Object reads one value. If it is an object, Object calls visit for each member; isObject reports whether it is one. Visit must
// read exactly one value; its argument is only valid until then.
func (w *Walker) Object(visit func(name []byte) error) (isObject bool, err error) {
	isObject, err = w.Enter('{')
	if !isObject || err != nil {
		return isObject, err
	}
	for {
		name, ok, err := w.Member()
		if !ok || err != nil {
			return true, err
		}
		if err := visit(name); err != nil {
			return true, err
		}
	}
}

// List reads one value. If it is a list, List calls visit for each element; isList reports whether it is one. Visit must
// read exactly one value.
func (w *Walker) List(visit func() error) (isList bool, err error) {
	isList, err = w.Enter('[')
	if !isList || err != nil {
		return isList, err
	}
	for {
		ok, err := w.Element()
		if !ok || err != nil {
			return true, err
		}
		if err := visit(); err != nil {
			return true, err
		}
	}
}

// End returns an error if anything but white space follows the value.
func (w *Walker) End() error {
	if i := strictjson.Space(w.text, w.pos); i < len(w.text) {
		return fmt.Errorf("there is more after the value, at byte %d", w.pos)
	}
	return nil
}

// Unquote returns the value of a JSON string; ok is false if the text is not a string.
func Unquote(text []byte) (s string, ok bool) {
	raw, ok := UnquoteBytes(text)
	return string(raw), ok
}

// UnquoteBytes is like Unquote, but does not copy a string without escapes. The result must not be modified.
func UnquoteBytes(text []byte) (s []byte, ok bool) {
	if len(text) < 2 || text[0] != '"' {
		return nil, false
	}
	if inner := text[1 : len(text)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	s, err := jsontext.AppendUnquote(make([]byte, 0, len(text)), text)
	return s, err == nil
}

// Name returns the value of a quoted name. It only copies names with escapes.
func Name(text []byte) []byte {
	if len(text) < 2 {
		return nil
	}
	if inner := text[1 : len(text)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	name, err := jsontext.AppendUnquote(nil, text)
	if err != nil {
		return nil
	}
	return name
}
