package twoway_test

import (
	"maps"
	"slices"
)

// picks makes a pair of objects from one, by bytes that a fuzzer chooses. After the last byte, it picks the first alternative.
type picks struct{ bytes []byte }

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

// age returns an object as it might be in live: fields are missing or null, lists are empty or without a few.
func (c *picks) age(value any) any {
	switch v := value.(type) {
	case map[string]any:
		aged := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch {
			case name == "apiVersion" || name == "kind" || isKey(name):
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
		for _, element := range v {
			if !c.once(8) {
				aged = append(aged, c.age(element))
			}
		}
		if len(aged) > 0 && c.once(60) {
			aged = append(aged, aged[0])
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
		return c.patchObject(v)
	case []any:
		return c.patchList(v)
	case string:
		return [...]any{v, v + "x", "", "null", "7"}[c.of(5)]
	case float64:
		return [...]any{v, v + 1, 0.0, -1.5, "7"}[c.of(5)]
	case bool:
		return c.of(2) == 0
	default:
		return [...]any{nil, "new", map[string]any{"new": nil, "a": 1.0}, []any{1.0, nil}}[c.of(4)]
	}
}

func (c *picks) patchObject(v map[string]any) any {
	patch := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch pick := c.of(24); {
		case name == "apiVersion" || name == "kind" || isKey(name) && pick != 23:
			patch[name] = v[name]
		case pick < 10:
		case pick < 20:
			patch[name] = c.patch(v[name])
		case pick == 20:
			patch[name] = nil
		case pick == 21 && c.once(8):
			patch[name] = [...]any{"other", []any{}, map[string]any{}}[c.of(3)]
		default:
			patch[name] = v[name]
		}
	}
	if c.once(12) {
		patch["$patch"] = [...]any{"merge", "replace", "delete", "merge", "delete", "other"}[c.of(6)]
	}
	if c.once(12) {
		patch["added"] = [...]any{1.0, map[string]any{"a": nil, "b": map[string]any{}}, []any{map[string]any{"name": "n", "x": nil}}}[c.of(3)]
	}
	return patch
}

func (c *picks) patchList(v []any) any {
	patch := []any{}
	for _, element := range v {
		switch c.of(6) {
		case 0, 1:
		case 2:
			patch = append(patch, element)
		default:
			patch = append(patch, c.patch(element))
		}
	}
	if len(v) > 0 && c.once(3) {
		patch = append(patch, renamed(v[c.of(len(v))]))
	}
	if len(patch) > 1 && c.once(3) {
		slices.Reverse(patch)
	}
	if c.once(16) {
		lone := map[string]any{"$patch": [...]any{"merge", "replace", "delete", "other"}[c.of(4)]}
		patch = slices.Insert(patch, c.of(len(patch)+1), any(lone))
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
				other[name] = v + 1
			}
		}
	}
	return other
}

// isKey reports whether the field of that name identifies elements.
func isKey(name string) bool {
	switch name {
	case "name", "containerPort", "port", "protocol", "mountPath", "devicePath", "ip", "type", "topologyKey", "whenUnsatisfiable", "uid":
		return true
	default:
		return false
	}
}
