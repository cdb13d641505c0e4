// Package rawjson finds, replaces and cuts members in JSON text without building objects from it. It exists for the hot
// path of the webhook: a review is walked once, and what is not of interest stays the text it came as.
package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Span says where a value stands in a text. The zero Span stands for a value that is not there.
type Span struct{ Start, End int }

// Present says whether there is a value.
func (s Span) Present() bool { return s.End > s.Start }

// From returns the Span within a text in which this one's text starts at start.
func (s Span) From(start int) Span { return Span{Start: s.Start + start, End: s.End + start} }

// Of returns the value's text, without a copy; nil when it is not there.
func (s Span) Of(text []byte) []byte {
	if !s.Present() {
		return nil
	}
	return text[s.Start:s.End:s.End]
}

// Walker reads one JSON value front to back. It refuses what RFC 8259 and RFC 7493 refuse: duplicate names, invalid
// UTF-8 and, as the library beneath does, more than 10,000 levels of nesting. It keeps no copy of the text.
type Walker struct {
	text []byte
	dec  *jsontext.Decoder
	name Span // of the member that is being visited
	last Span // of the value that was stepped over last
}

// Walk returns a Walker at the start of text.
func Walk(text []byte) *Walker {
	return &Walker{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text))}
}

// Walkers are Walkers to be used again: what one has grown to hold the names of a text serves the next text as well. The
// zero Walkers is ready, and many can use it at once.
type Walkers struct{ pool sync.Pool }

// Walk returns a Walker at the start of text.
func (ws *Walkers) Walk(text []byte) *Walker {
	w, ok := ws.pool.Get().(*Walker)
	if !ok {
		return Walk(text)
	}
	w.dec.Reset(bytes.NewBuffer(text))
	*w = Walker{text: text, dec: w.dec}
	return w
}

// Done takes a Walker back that is not used any more.
func (ws *Walkers) Done(w *Walker) {
	w.dec.Reset(new(bytes.Buffer)) // lets go of the text
	w.text = nil
	ws.pool.Put(w)
}

// WalkChecked is Walk for a text that a Walker has been through already: it does not look for duplicate names again.
func WalkChecked(text []byte) *Walker {
	trusted := jsontext.AllowDuplicateNames(true)
	return &Walker{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text), trusted)}
}

// Text returns all the text that is walked. Spans refer to it.
func (w *Walker) Text() []byte { return w.text }

// Kind returns what the next value is: '{', '[', '"', '0', 't', 'f', 'n', or 0 where there is none.
func (w *Walker) Kind() jsontext.Kind { return w.dec.PeekKind() }

// Value steps over one value and says where it stands.
func (w *Walker) Value() (Span, error) {
	value, err := w.dec.ReadValue()
	if err != nil {
		return Span{}, problem("reading a value", err)
	}
	end := int(w.dec.InputOffset())
	w.last = Span{Start: end - len(value), End: end}
	return w.last, nil
}

// problem says what is wrong with a text and where, without the names and the characters of it that the library quotes:
// what is read here can be a secret, and errors are logged.
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

// Last says where the value stands that was stepped over last.
func (w *Walker) Last() Span { return w.last }

// String steps over one value and returns the string it is; ok is false when it is something else.
func (w *Walker) String() (s string, ok bool, err error) {
	span, err := w.Value()
	if err != nil {
		return "", false, err
	}
	s, ok = Unquote(span.Of(w.text))
	return s, ok, nil
}

// Object steps over one value and calls visit for each of its members when it is an object; isObject tells. The name
// that visit gets is valid until it moves the Walker on, which it does by exactly one value.
func (w *Walker) Object(visit func(name []byte) error) (isObject bool, err error) {
	if w.Kind() != '{' {
		_, err := w.Value()
		return false, err
	}
	return true, w.each('}', func() error {
		name, err := w.dec.ReadValue()
		if err != nil {
			return problem("reading a name", err)
		}
		end := int(w.dec.InputOffset())
		w.name = Span{Start: end - len(name), End: end}
		return visit(Name(name))
	})
}

// Array steps over one value and calls visit for each of its elements when it is an array; isArray tells. Visit moves
// the Walker on by exactly one value.
func (w *Walker) Array(visit func() error) (isArray bool, err error) {
	if w.Kind() != '[' {
		_, err := w.Value()
		return false, err
	}
	return true, w.each(']', visit)
}

// each calls visit until the closing token of the object or array that starts here.
func (w *Walker) each(closing jsontext.Kind, visit func() error) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return problem("reading an opening token", err)
	}
	start := int(w.dec.InputOffset()) - 1
	for w.dec.PeekKind() != closing {
		if err := visit(); err != nil {
			return err
		}
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return problem("reading a closing token", err)
	}
	w.last = Span{Start: start, End: int(w.dec.InputOffset())}
	return nil
}

// End refuses anything but white space after the value.
func (w *Walker) End() error {
	if kind := w.Kind(); kind != 0 {
		return fmt.Errorf("there is more after the value, at byte %d", w.dec.InputOffset())
	}
	if space(w.text, int(w.dec.InputOffset())) < len(w.text) {
		return fmt.Errorf("there is more after the value, at byte %d", w.dec.InputOffset())
	}
	return nil
}

// Unquote returns the string that a JSON text holds; ok is false when the text is no string.
func Unquote(text []byte) (s string, ok bool) {
	raw, ok := UnquoteBytes(text)
	return string(raw), ok
}

// UnquoteBytes is Unquote without a copy where the string is written without escapes: the result is not to be changed.
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

// Name returns the name that a quoted one is, without a copy for all but those that are written with escapes.
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
