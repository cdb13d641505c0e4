package merge

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"gomodules.xyz/jsonpatch/v2"
)

// EncodePatch returns operations as a JSON patch (RFC 6902), [] if there are none. A value must be a string or a
// json.RawMessage; any other type is an error, and so is invalid JSON. The value of a "remove" operation is ignored.
//
// Raw values can be large. EncodePatch scans them once, whereas the MarshalJSON method of Operation scans them four times.
func EncodePatch(operations []jsonpatch.Operation) ([]byte, error) {
	to := []byte{'['}
	for i, o := range operations {
		if i > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = appendOperation(to, o); err != nil {
			return to, fmt.Errorf("encoding the operation on %s: %w", o.Path, err)
		}
	}
	to = append(to, ']')
	if !jsontext.Value(to).IsValid() {
		return to, errPatch
	}
	return to, nil
}

var errPatch = errors.New("a value of the patch is not valid JSON, or nested too deeply")

func appendOperation(to []byte, o jsonpatch.Operation) (_ []byte, err error) {
	to = append(to, `{"op":`...)
	if to, err = jsontext.AppendQuote(to, o.Operation); err != nil {
		return to, err
	}
	to = append(to, `,"path":`...)
	if to, err = jsontext.AppendQuote(to, o.Path); err != nil {
		return to, err
	}
	if o.Operation != "remove" { // which has no value (RFC 6902, section 4.2)
		to = append(to, `,"value":`...)
		if to, err = appendValue(to, o.Value); err != nil {
			return to, err
		}
	}
	return append(to, '}'), nil
}

func appendValue(to []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return jsontext.AppendQuote(to, v)
	case json.RawMessage:
		return append(to, v...), nil
	default:
		return to, fmt.Errorf("a %T is neither a string nor raw JSON", v)
	}
}
