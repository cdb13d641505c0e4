package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// TwoWayJSON is TwoWay on JSON texts, and returns one: a single line with the fields in the order of their names, null
// where source deletes the whole. Numbers stay as they are written. Comments, the order of fields and the styles of YAML,
// which kyaml carries over, are not its business: JSON has none.
//
// Either side is one JSON value by RFC 8259 and RFC 7493, which allows no name twice in an object; the error of what is
// not is an *InputError that says at which byte. Other errors are TwoWay's.
func TwoWayJSON(source, destination []byte, schema Schema, options TwoWayOptions) ([]byte, error) {
	from, err := decodeJSON(source)
	if err != nil {
		return nil, &InputError{Input: inSource, Err: err}
	}
	to, err := decodeJSON(destination)
	if err != nil {
		return nil, &InputError{Input: inDestination, Err: err}
	}
	merged, err := TwoWay(from, to, schema, options)
	if err != nil {
		return nil, err
	}
	return appendJSON(make([]byte, 0, len(source)+len(destination)), merged)
}

// decodeJSON decodes one text, with numbers as they are written.
func decodeJSON(text []byte) (any, error) {
	d := jsonDecoder{dec: jsontext.NewDecoder(bytes.NewBuffer(text)), names: make(map[string]string)}
	value, err := d.value()
	if err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decoding JSON: more follows the value, at byte %d", d.dec.InputOffset())
	}
	return value, nil
}

// jsonDecoder decodes one text.
type jsonDecoder struct {
	dec *jsontext.Decoder
	// names holds each name of a field once: an object of Kubernetes has few, many times.
	names map[string]string
}

func (d *jsonDecoder) value() (any, error) {
	switch next := d.dec.PeekKind(); {
	case next == '{':
		return d.object()
	case next == '[':
		return d.list()
	}
	token, err := d.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func (d *jsonDecoder) object() (map[string]any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	object := make(map[string]any)
	for d.dec.PeekKind() != '}' {
		name, err := d.name()
		if err != nil {
			return nil, err
		}
		if object[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.dec.ReadToken()
	return object, err
}

func (d *jsonDecoder) name() (string, error) {
	quoted, err := d.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if name, ok := d.names[string(quoted)]; ok {
		return name, nil
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return "", err
	}
	d.names[string(quoted)] = string(name)
	return string(name), nil
}

func (d *jsonDecoder) list() ([]any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	list := []any{}
	for d.dec.PeekKind() != ']' {
		element, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	_, err := d.dec.ReadToken()
	return list, err
}

// appendJSON appends the text of a value that decodeJSON has decoded.
func appendJSON(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return fmt.Append(out, v), nil
	case json.Number:
		return append(out, v...), nil
	case string:
		return jsontext.AppendQuote(out, v)
	case []any:
		return appendList(out, v)
	case map[string]any:
		return appendObject(out, v)
	default:
		return nil, fmt.Errorf("encoding JSON: there is a %T", value)
	}
}

func appendList(out []byte, list []any) (_ []byte, err error) {
	out = append(out, '[')
	for i, element := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSON(out, element); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendObject(out []byte, object map[string]any) (_ []byte, err error) {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return nil, err
		}
		if out, err = appendJSON(append(out, ':'), object[name]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}
