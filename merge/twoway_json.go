package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// TwoWayJSON is TwoWay on JSON texts, and returns one, null where source deletes the whole. What source does not mention
// stands as it is written in destination, and all numbers as they are written; the fields of objects that both have are
// in the order of their names. Comments and the styles of YAML, which kyaml carries over, are not its business: JSON has
// none.
//
// Either side is one JSON value by RFC 8259 and RFC 7493, which allows no name twice in an object; the error of what is
// not is an *InputError that says at which byte. Other errors are TwoWay's.
func TwoWayJSON(source, destination []byte, schema Schema, options TwoWayOptions) ([]byte, error) {
	from, err := decodeJSON(source)
	if err != nil {
		return nil, &InputError{Input: inSource, Err: err}
	}
	to, err := decodeBeside(destination, from)
	if err != nil {
		return nil, &InputError{Input: inDestination, Err: err}
	}
	merged, err := TwoWay(from, to, schema, options)
	if err != nil {
		return nil, err
	}
	w := jsonWriter{out: make([]byte, 0, len(source)+len(destination))}
	if err := w.value(merged); err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return w.out, nil
}

// jsonWriter writes a value that has been decoded here.
type jsonWriter struct {
	out []byte
	// names are those of the objects that are being written.
	names []string
}

func (w *jsonWriter) value(value any) (err error) {
	switch v := value.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case json.Number:
		w.out = append(w.out, v...)
	case rawJSON:
		w.out = append(w.out, v...)
	case string:
		w.out, err = jsontext.AppendQuote(w.out, v)
	case []any:
		err = w.list(v)
	case map[string]any:
		err = w.object(v)
	default:
		err = fmt.Errorf("there is a %T", value)
	}
	return err
}

func (w *jsonWriter) list(list []any) error {
	w.out = append(w.out, '[')
	for i, element := range list {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(element); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *jsonWriter) object(object map[string]any) (err error) {
	outer := len(w.names)
	for name := range object {
		w.names = append(w.names, name)
	}
	names := w.names[outer:]
	slices.Sort(names)
	w.out = append(w.out, '{')
	for i, name := range names {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if w.out, err = jsontext.AppendQuote(w.out, name); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.value(object[name]); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	w.names = w.names[:outer]
	return nil
}
