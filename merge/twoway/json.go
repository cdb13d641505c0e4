package twoway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/strictjson"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// MergeJSON is Merge for JSON texts. The result is null if the manifest deletes the whole object. Values that the manifest lacks
// have live's text, and all numbers are as written. The fields of objects that both inputs have are sorted by name.
//
// Both inputs must be JSON values according to RFC 8259 and RFC 7493, which does not allow duplicate names in an object. Any
// other text is an *InputError that includes the byte offset.
func MergeJSON(manifest, live []byte, s schema.Schema, options Options) ([]byte, error) {
	from, err := decodeJSON(manifest)
	if err != nil {
		return nil, &InputError{Input: inManifest, Err: err}
	}
	to, err := decodeBeside(live, from)
	if err != nil {
		return nil, &InputError{Input: inLive, Err: err}
	}
	merged, err := Merge(from, to, s, options)
	if err != nil {
		return nil, err
	}
	w := jsonWriter{out: make([]byte, 0, len(manifest)+len(live)), names: make([]string, 0, 32)}
	if err := w.value(merged); err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return w.out, nil
}

// jsonWriter encodes a value that jsonDecoder has decoded.
type jsonWriter struct {
	out []byte
	// names are those of the members of the objects being written.
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
		err = fmt.Errorf("unexpected type %T", value)
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

// rawJSON is the valid JSON text of a value in live that has not been decoded, because the manifest lacks it. Most of a live
// object stays like that.
type rawJSON string

// opened returns a value, decoded as far as the merge with the manifest's value requires.
func opened(value, manifest any) any {
	raw, ok := value.(rawJSON)
	if !ok {
		return value
	}
	var decoded any
	var err error
	if raw[0] == '{' || raw[0] == '[' {
		decoded, err = newDecoder([]byte(raw), false).value(manifest)
	} else {
		decoded, err = scalar(string(raw))
	}
	if err != nil {
		return value // cannot happen: the text is valid
	}
	return decoded
}

// decodeJSON decodes all of a text, with numbers as they are written.
func decodeJSON(text []byte) (any, error) { return newDecoder(text, true).only(nil) }

// decodeBeside decodes a text as far as the merge with the manifest requires.
func decodeBeside(text []byte, manifest any) (any, error) {
	return newDecoder(text, false).only(manifest)
}

// jsonDecoder decodes a text, as far as a model has the same objects and lists. Strings share the memory of the text.
type jsonDecoder struct {
	scan strictjson.Scanner
	all  bool // decode everything, without a model
}

func newDecoder(text []byte, all bool) *jsonDecoder {
	d := &jsonDecoder{all: all}
	d.scan.Reset(string(text), text)
	return d
}

// only returns the single value of the text.
func (d *jsonDecoder) only(model any) (any, error) {
	value, err := d.value(model)
	if err == nil {
		err = d.scan.End()
	}
	if err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	return value, nil
}

func (d *jsonDecoder) value(model any) (any, error) {
	next := d.scan.Kind()
	object, isObject := model.(map[string]any)
	list, isList := model.([]any)
	switch {
	case next == '{' && (d.all || isObject):
		return d.object(object)
	case next == '[' && (d.all || isList):
		return d.list(list)
	}
	text, err := d.scan.Value()
	if err != nil {
		return nil, err
	}
	if next == '{' || next == '[' || !d.all && model == nil {
		return rawJSON(text), nil
	}
	return scalar(text)
}

func (d *jsonDecoder) object(model map[string]any) (map[string]any, error) {
	if err := d.scan.Enter(); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(model))
	for {
		more, err := d.scan.Next()
		if err != nil || !more {
			return object, err
		}
		name, err := d.scan.Name()
		if err != nil {
			return nil, err
		}
		if object[name], err = d.value(model[name]); err != nil {
			return nil, err
		}
	}
}

// list decodes the scalars and the objects of a list. The model of an object is the model's element at the same index, a guess
// that costs time only if it is wrong.
func (d *jsonDecoder) list(model []any) ([]any, error) {
	if err := d.scan.Enter(); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(model))
	var emptyModel any = map[string]any(nil)
	for {
		more, err := d.scan.Next()
		if err != nil || !more {
			return list, err
		}
		elementModel := emptyModel
		if i := len(list); i < len(model) {
			if object, ok := model[i].(map[string]any); ok {
				elementModel = object
			}
		}
		element, err := d.value(elementModel)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
}

// scalar decodes the text of a scalar.
func scalar(text string) (any, error) {
	switch text[0] {
	case '"':
		return strictjson.Unquote(text)
	case 'n':
		return nil, nil
	case 't', 'f':
		return text == "true", nil
	default:
		return json.Number(text), nil
	}
}
