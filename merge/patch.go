package merge

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Operation is an operation of a JSON patch (RFC 6902).
type Operation struct {
	Op   string `json:"op"` // "add", "replace" or "remove"
	Path string `json:"path"`
	// Value is a string, or a json.RawMessage of any JSON value. A "remove" operation has none.
	Value any `json:"value,omitzero"`
}

// EncodePatch returns operations as a JSON patch, [] if there are none. The error is about a value that is not valid JSON: names must
// be unique, and nesting is at most 10,000 levels, as when the API server reads it.
func EncodePatch(operations []Operation) ([]byte, error) {
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch: %w", err)
	}
	return text, nil
}
