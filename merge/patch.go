package merge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"gomodules.xyz/jsonpatch/v2"
)

// EncodePatch returns operations as a JSON patch (RFC 6902), [] if there are none. A value must be a string or a
// json.RawMessage; any other type is an error, and so is invalid JSON. The value of a "remove" operation is ignored.
//
// Raw values can be large. EncodePatch scans them once, whereas the MarshalJSON method of Operation scans them four times.
func EncodePatch(operations []jsonpatch.Operation) ([]byte, error) {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	write := func(tokens ...jsontext.Token) (err error) {
		for _, token := range tokens {
			if err = enc.WriteToken(token); err != nil {
				return fmt.Errorf("encoding the patch: %w", err)
			}
		}
		return nil
	}
	if err := write(jsontext.BeginArray); err != nil {
		return nil, err
	}
	for _, o := range operations {
		err := write(jsontext.BeginObject, jsontext.String("op"), jsontext.String(o.Operation),
			jsontext.String("path"), jsontext.String(o.Path))
		if err != nil {
			return nil, err
		}
		if err := writeValue(enc, o); err != nil {
			return nil, fmt.Errorf("encoding the value of %s: %w", o.Path, err)
		}
		if err := write(jsontext.EndObject); err != nil {
			return nil, err
		}
	}
	if err := write(jsontext.EndArray); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// writeValue writes the member "value", which the operation "remove" does not have (RFC 6902, section 4.2).
func writeValue(enc *jsontext.Encoder, o jsonpatch.Operation) error {
	if o.Operation == "remove" {
		return nil
	}
	if err := enc.WriteToken(jsontext.String("value")); err != nil {
		return err
	}
	switch v := o.Value.(type) {
	case string:
		return enc.WriteToken(jsontext.String(v))
	case json.RawMessage:
		return enc.WriteValue(jsontext.Value(v))
	default:
		return fmt.Errorf("a %T is neither a string nor raw JSON", v)
	}
}
