package twoway_test

import (
	"maps"
	"slices"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// picks makes a pair of objects from one, by bytes that a fuzzer chooses. After the last byte, it picks the first alternative. It
// never makes a pair that docs/merge-differences-twoway.md lists.
type picks struct {
	bytes []byte
	order twoway.ListOrder
	// infer reports whether keys are inferred: then lists are not empty.
	infer bool
}

func (c *picks) of(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return int(b) % n
}

// once reports true in one of n cases.
func (c *picks) once(n int) bool { return c.of(n) == 1 }

// age returns an object as it might be in live: fields are missing or null, lists are without a few elements.
func (c *picks) age(value any) any {
	switch v := value.(type) {
	case map[string]any:
		aged := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch {
			case isKey(name):
				aged[name] = v[name]
			case c.once(12):
			case c.once(30):
				aged[name] = nil
			default:
				aged[name] = c.age(v[name])
			}
		}
		return aged
	case []any:
		aged := []any{}
		for i, element := range v {
			if isOnly := i == len(v)-1 && len(aged) == 0; !c.once(8) || c.infer && isOnly {
				aged = append(aged, c.age(element))
			}
		}
		return aged
	default:
		return value
	}
}

// patch returns what the manifest might have for a value of live.
func (c *picks) patch(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return c.patchObject(v, []any{"merge", "replace", "delete"})
	case []any:
		return c.patchList(v)
	case string:
		return [...]any{v, v + "x", "", "null", "7"}[c.of(5)]
	case float64:
		return [...]any{v, v + 1, 0.0, -1.5, "7"}[c.of(5)]
	case bool:
		return c.of(2) == 0
	default:
		return [...]any{nil, "new", map[string]any{"new": nil, "a": 1.0}}[c.of(3)]
	}
}

func (c *picks) patchObject(v map[string]any, directives []any) map[string]any {
	patch := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch pick := c.of(24); {
		case isKey(name):
			patch[name] = v[name]
		case pick < 10:
		case pick < 20:
			patch[name] = c.patch(v[name])
		case pick == 20:
			patch[name] = nil
		case pick == 21 && c.once(8):
			patch[name] = [...]any{"other", map[string]any{}}[c.of(2)]
		default:
			patch[name] = v[name]
		}
	}
	if c.once(12) {
		patch["$patch"] = directives[c.of(len(directives))]
	}
	if c.once(12) {
		patch["added"] = [...]any{1.0, map[string]any{"a": nil, "b": map[string]any{}}}[c.of(2)]
	}
	return patch
}

func (c *picks) patchList(v []any) any {
	// A list and its elements do not both have directives, and elements that come first do not replace.
	var own, ofElements []any
	switch {
	case c.once(12):
		own = []any{"merge", "replace", "delete"}
	case c.order == twoway.ManifestFirst:
		ofElements = []any{"merge", "delete"}
	default:
		ofElements = []any{"merge", "replace", "delete"}
	}
	patch := []any{}
	for i, element := range v {
		pick, isOnly := c.of(6), i == len(v)-1 && len(patch) == 0
		switch object, isObject := element.(map[string]any); {
		case pick < 2 && (!c.infer || !isOnly):
		case pick > 2 && isObject && ofElements != nil:
			patch = append(patch, c.patchObject(object, ofElements))
		default:
			patch = append(patch, element)
		}
	}
	if len(v) > 0 && c.once(3) {
		patch = append(patch, renamed(v[c.of(len(v))]))
	}
	if len(patch) > 1 && c.once(3) {
		slices.Reverse(patch)
	}
	if own != nil {
		patch = slices.Insert(patch, c.of(len(patch)+1), any(map[string]any{"$patch": own[c.of(len(own))]}))
	}
	return patch
}

// renamed returns an element with another key than the given one.
func renamed(element any) any {
	object, ok := element.(map[string]any)
	if !ok {
		return "renamed"
	}
	other := maps.Clone(object)
	for name, value := range other {
		switch v := value.(type) {
		case string:
			if isKey(name) && name != "protocol" {
				other[name] = v + "2"
			}
		case float64:
			if isKey(name) {
				other[name] = v + 1000
			}
		}
	}
	return other
}

// isKey reports whether the field of that name identifies elements, or an object.
func isKey(name string) bool {
	switch name {
	case "apiVersion", "kind":
		return true
	case "name", "containerPort", "port", "protocol", "mountPath", "devicePath", "ip", "type", "topologyKey", "whenUnsatisfiable", "uid":
		return true
	default:
		return false
	}
}
