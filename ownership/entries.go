package ownership

import (
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// entryAt has the positions of an entry and its fields in the text of its object.
type entryAt struct {
	whole, manager, operation, apiVersion, subresource, time, fields rawjson.Span
}

// readManagedFields steps over metadata.managedFields and records the positions of its entries, so that the largest part of
// an object's text is read only once. It does not fail on invalid entries, but Entries does.
func (o *Object) readManagedFields(w *rawjson.Walker) error {
	isArray, err := w.Enter('[')
	if !isArray || err != nil {
		o.managedFields, o.entries = w.Last(), nil
		return err
	}
	invalid := false
	o.entries = make([]entryAt, 0, manyEntries)
	for {
		more, err := w.Element()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		at, isObject, err := readEntryAt(w)
		if err != nil {
			return err
		}
		invalid = invalid || !isObject
		o.entries = append(o.entries, at)
	}
	o.managedFields = w.Last()
	if invalid {
		o.entries = nil
	}
	return nil
}

// readEntryAt steps over an entry and returns its positions.
func readEntryAt(w *rawjson.Walker) (at entryAt, isObject bool, err error) {
	isObject, err = w.Enter('{')
	for isObject && err == nil {
		name, ok, problem := w.Member()
		if !ok || problem != nil {
			err = problem
			break
		}
		var value rawjson.Span
		if value, err = w.Value(); err == nil {
			at.set(name, value)
		}
	}
	at.whole = w.Last()
	return at, isObject, err
}

// set sets the position of a field of an entry.
func (at *entryAt) set(name []byte, value rawjson.Span) {
	switch string(name) {
	case "manager":
		at.manager = value
	case "operation":
		at.operation = value
	case "apiVersion":
		at.apiVersion = value
	case "subresource":
		at.subresource = value
	case "time":
		at.time = value
	case "fieldsV1":
		at.fields = value
	}
}

// readEntry reads an entry whose positions are known, without its strings, which it appends to a text.
func (o Object) readEntry(at entryAt, strings []byte) (e Entry, _ []byte, err error) {
	e.Text = at.whole.Of(o.text)
	for _, part := range at.strings() {
		if !part.Present() {
			continue
		}
		s, err := readBytes(part.Of(o.text))
		if err != nil {
			return e, strings, err
		}
		strings = append(strings, s...)
	}
	if !at.fields.Present() {
		return e, strings, nil
	}
	fields, err := readFields(o.text, at.fields)
	if fields.Present() {
		e.Fields = fields.Of(o.text)
		e.fieldsAt = rawjson.Span{Start: fields.Start - at.whole.Start, End: fields.End - at.whole.Start}
	}
	return e, strings, err
}

// strings returns the positions of the strings of an entry.
func (at entryAt) strings() [5]rawjson.Span {
	return [...]rawjson.Span{at.manager, at.operation, at.apiVersion, at.subresource, at.time}
}

// setStrings sets the strings of an entry to the start of a text, which readEntry has written, and returns the rest.
func (o Object) setStrings(e *Entry, at entryAt, text string) (rest string) {
	for i, to := range [...]*string{&e.Manager, &e.Operation, &e.APIVersion, &e.Subresource, &e.Time} {
		s, _ := rawjson.UnquoteBytes(at.strings()[i].Of(o.text))
		*to, text = text[:len(s)], text[len(s):]
	}
	return text
}

// readEntries reads the entries from valid JSON text.
func readEntries(text []byte) ([]Entry, error) {
	if text[0] != '[' {
		return nil, fmt.Errorf("%w: not a list", ErrManagedFields)
	}
	entries := make([]Entry, 0, 8)
	var err error
	rawjson.Elements(text, func(at rawjson.Span) bool {
		var entry Entry
		if entry, err = readEntry(at.Of(text)); err != nil {
			err = fmt.Errorf("%w: entry %d: %w", ErrManagedFields, len(entries)+1, err)
			return false
		}
		entries = append(entries, entry)
		return true
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

func readEntry(text []byte) (Entry, error) {
	e := Entry{Text: text}
	if text[0] != '{' {
		return e, ErrNotAnObject
	}
	var err error
	rawjson.Members(text, func(name, value rawjson.Span) bool {
		switch string(rawjson.Name(name.Of(text))) {
		case "manager":
			e.Manager, err = readString(value.Of(text))
		case "operation":
			e.Operation, err = readString(value.Of(text))
		case "apiVersion":
			e.APIVersion, err = readString(value.Of(text))
		case "subresource":
			e.Subresource, err = readString(value.Of(text))
		case "time":
			e.Time, err = readString(value.Of(text))
		case "fieldsV1":
			e.fieldsAt, err = readFields(text, value)
		}
		return err == nil
	})
	e.Fields = e.fieldsAt.Of(text)
	e.readAnnotations()
	return e, err
}

// readFields returns the position of fieldsV1, which must be an object or null.
func readFields(text []byte, value rawjson.Span) (rawjson.Span, error) {
	switch text[value.Start] {
	case '{':
		return value, nil
	case 'n':
		return rawjson.Span{}, nil
	default:
		return rawjson.Span{}, fmt.Errorf("fieldsV1: %w", ErrNotAnObject)
	}
}

func readString(text []byte) (string, error) {
	s, err := readBytes(text)
	return string(s), err
}

// readBytes returns the value of a string, nil for null.
func readBytes(text []byte) ([]byte, error) {
	s, ok := rawjson.UnquoteBytes(text)
	if !ok && string(text) != jsonNull {
		return nil, errors.New("not a string")
	}
	return s, nil
}
