// Package rawjson finds, replaces and cuts members of JSON text without decoding it. It serves the hot path of the webhook, which
// reads a review once and does not decode most of it.
package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
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
// names and invalid UTF-8, and, like jsontext, more than 10,000 levels of nesting. It does not copy the text.
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

// Walkers is a pool of Walkers, which reuses their memory. The zero Walkers is ready to use, and safe for concurrent use.
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

// Done returns a Walker to the pool. It must not be used afterwards.
func (ws *Walkers) Done(w *Walker) {
	w.dec.Reset(new(bytes.Buffer)) // releases the text
	w.text = nil
	ws.pool.Put(w)
}

// WalkChecked is like Walk, for text that a Walker has already read: it does not check for duplicate names again.
func WalkChecked(text []byte) *Walker {
	trusted := jsontext.AllowDuplicateNames(true)
	return &Walker{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text), trusted)}
}

// Text returns the whole text. Spans refer to it.
func (w *Walker) Text() []byte { return w.text }

// Kind returns the kind of the next value: '{', '[', '"', '0', 't', 'f', 'n', or 0 if there is none.
func (w *Walker) Kind() jsontext.Kind { return w.dec.PeekKind() }

// Value reads one value and returns its position.
func (w *Walker) Value() (Span, error) {
	value, err := w.dec.ReadValue()
	if err != nil {
		return Span{}, problem("reading a value", err)
	}
	end := int(w.dec.InputOffset())
	w.last = Span{Start: end - len(value), End: end}
	return w.last, nil
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

// Object reads one value. If it is an object, Object calls visit for each member; isObject reports whether it is one. Visit must
// read exactly one value; its argument is only valid until then.
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

// Array reads one value. If it is an array, Array calls visit for each element; isArray reports whether it is one. Visit must
// read exactly one value.
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

// End returns an error if anything but white space follows the value.
func (w *Walker) End() error {
	if kind := w.Kind(); kind != 0 {
		return fmt.Errorf("there is more after the value, at byte %d", w.dec.InputOffset())
	}
	if space(w.text, int(w.dec.InputOffset())) < len(w.text) {
		return fmt.Errorf("there is more after the value, at byte %d", w.dec.InputOffset())
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
