package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// rawJSON is a value of destination that has been checked but not decoded, as source has nothing there: most of an object
// is never looked at. It is found within opened values only.
type rawJSON string

// opened returns a value to look at: destination's, decoded as far as source's asks for it.
func opened(value, source any) any {
	raw, ok := value.(rawJSON)
	if !ok {
		return value
	}
	var decoded any
	var err error
	if raw[0] == '{' || raw[0] == '[' {
		trusted := jsontext.AllowDuplicateNames(true)
		d := jsonDecoder{dec: jsontext.NewDecoder(bytes.NewBufferString(string(raw)), trusted), text: string(raw)}
		decoded, err = d.value(source)
	} else {
		decoded, err = scalar(string(raw))
	}
	if err != nil {
		return value // it has been read before: this does not happen
	}
	return decoded
}

// decodeJSON decodes all of a text, with numbers as they are written.
func decodeJSON(text []byte) (any, error) {
	d := jsonDecoder{dec: jsontext.NewDecoder(bytes.NewBuffer(text)), text: string(text), all: true}
	return d.only(nil)
}

// decodeBeside decodes what a merge with source looks at.
func decodeBeside(text []byte, source any) (any, error) {
	d := jsonDecoder{dec: jsontext.NewDecoder(bytes.NewBuffer(text)), text: string(text)}
	return d.only(source)
}

// jsonDecoder decodes one text, or what a model has of it. Strings share the memory of the text.
type jsonDecoder struct {
	dec  *jsontext.Decoder
	text string
	all  bool
}

// only returns the one value that the text holds.
func (d *jsonDecoder) only(model any) (any, error) {
	value, err := d.value(model)
	if err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decoding JSON: more follows the value, at byte %d", d.dec.InputOffset())
	}
	return value, nil
}

func (d *jsonDecoder) value(model any) (any, error) {
	next := d.dec.PeekKind()
	object, isObject := model.(map[string]any)
	list, isList := model.([]any)
	switch {
	case next == '{' && (d.all || isObject):
		return d.object(object)
	case next == '[' && (d.all || isList):
		return d.list(list)
	}
	written, err := d.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.dec.InputOffset())
	text := d.text[end-len(written) : end]
	if next == '{' || next == '[' || !d.all && model == nil {
		return rawJSON(text), nil
	}
	return scalar(text)
}

func (d *jsonDecoder) object(model map[string]any) (map[string]any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(model))
	for d.dec.PeekKind() != '}' {
		quoted, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.dec.InputOffset())
		name, err := unquote(d.text[end-len(quoted) : end])
		if err != nil {
			return nil, err
		}
		if object[name], err = d.value(model[name]); err != nil {
			return nil, err
		}
	}
	_, err := d.dec.ReadToken()
	return object, err
}

// list decodes the scalars and the objects of a list, the latter beside the model's element of the same index, which is
// no more than a good guess.
func (d *jsonDecoder) list(model []any) ([]any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(model))
	var unlike any = map[string]any(nil)
	for d.dec.PeekKind() != ']' {
		beside := unlike
		if i := len(list); i < len(model) {
			if object, ok := model[i].(map[string]any); ok {
				beside = object
			}
		}
		element, err := d.value(beside)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	_, err := d.dec.ReadToken()
	return list, err
}

// scalar decodes the text of one.
func scalar(text string) (any, error) {
	switch text[0] {
	case '"':
		return unquote(text)
	case 'n':
		return nil, nil
	case 't', 'f':
		return text == "true", nil
	default:
		return json.Number(text), nil
	}
}

func unquote(quoted string) (string, error) {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return string(text), err
}
