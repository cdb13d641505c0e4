package merge

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// identity returns the text of the field that tells an element apart. An empty one tells nothing. Numbers and strings of
// the same text are the same, as YAML makes no difference in a key.
func identity(object map[string]any, key string) (string, bool) {
	switch value := opened(object[key], nil).(type) {
	case nil, map[string]any, []any, rawJSON:
		return "", false
	case string:
		return value, value != ""
	default:
		text := textOf(value)
		return text, text != ""
	}
}

// textOf returns a scalar as YAML would write it without quotes.
func textOf(scalar any) string {
	switch v := scalar.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int64:
		return strconv.FormatInt(v, 10)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return fmt.Sprint(v)
	}
}

// plain returns a scalar in a type that a path can hold.
func plain(scalar any) any {
	number, ok := scalar.(json.Number)
	if !ok {
		return scalar
	}
	if whole, err := number.Int64(); err == nil {
		return whole
	}
	return number.String()
}

// checkScalar returns why a value that is no object and no list is no decoded JSON, or nil.
func checkScalar(value any) error {
	switch value.(type) {
	case string, bool, json.Number, float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return nil
	default:
		return wrong(inSource, ErrWrongKind, "a %T is no decoded JSON", value)
	}
}

// kindName names the kind of a value in an error.
func kindName(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case rawJSON:
		if v[0] == '{' {
			return "an object"
		}
		return "a list"
	default:
		return "a scalar"
	}
}
