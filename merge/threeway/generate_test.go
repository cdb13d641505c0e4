package threeway_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/test/golden"
)

// sample is a realistic object to derive base, manifest and live from.
type sample struct {
	name    string
	decoded map[string]any
	typed   runtime.Object // an empty one of its Go type
	place   schema.Schema
}

// sampleObjects returns the objects of testdata/objects, sorted by name.
func sampleObjects(tb testing.TB) []sample {
	tb.Helper()
	paths, err := filepath.Glob("testdata/objects/*.yaml")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no objects to merge: %v", err)
	}
	var types schema.Types
	all := make([]sample, len(paths))
	for i, path := range paths {
		o := sample{name: strings.TrimSuffix(filepath.Base(path), ".yaml")}
		expect.NoError(tb, yaml.Unmarshal([]byte(golden.Read(tb, path)), &o.decoded))
		gvk := runtimeschema.FromAPIVersionAndKind(fmt.Sprint(o.decoded["apiVersion"]), fmt.Sprint(o.decoded["kind"]))
		o.typed, err = clientgoscheme.Scheme.New(gvk)
		expect.NoError(tb, err)
		o.place = types.Of(o.typed)
		all[i] = o
	}
	return all
}

// choices makes decisions from a script of bytes, which a fuzzer can change. After the end of the script, each decision is 0.
type choices struct{ script []byte }

func (c *choices) upTo(n int) int {
	if n <= 1 || len(c.script) == 0 {
		return 0
	}
	chosen := int(c.script[0]) % n
	c.script = c.script[1:]
	return chosen
}

func (c *choices) oneIn(n int) bool { return c.upTo(n) == n-1 }

// inputs derives a base, a manifest and a live object. All of them start as the whole object, the base and the manifest without
// most of the fields that users do not write. Then each is changed independently.
func (c *choices) inputs(o sample) (base, manifest, live any) {
	written := c.varied(o.decoded, o.place, 3, nil)
	base = c.varied(written, o.place, 20, nil)
	manifest = c.varied(base, o.place, 15, nil)
	if c.oneIn(3) {
		manifest = c.varied(written, o.place, 15, nil)
	}
	return base, manifest, c.varied(o.decoded, o.place, 20, nil)
}

// varied returns a value with changes, on average to one in the given number of its parts; one in 3 only removes parts. The keys of an
// element stay.
func (c *choices) varied(value any, place schema.Schema, one int, keys []string) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			isKept := slices.Contains(keys, name) || keys == nil && slices.Contains([]string{"metadata", "spec", "template"}, name)
			switch {
			case isKept && !isContainer(v[name]):
				out[name] = v[name]
			case !isKept && c.oneIn(one):
				if changed, ok := c.changed(v[name]); ok && one > 3 {
					out[name] = changed
				}
			default:
				out[name] = c.varied(v[name], place.Field(name), one, nil)
			}
		}
		if one > 3 && c.oneIn(4*one) {
			out["new"] = "new"
		}
		return out
	case []any:
		return c.variedList(v, place, one)
	default:
		return value
	}
}

func isContainer(value any) bool {
	_, isObject := value.(map[string]any)
	_, isList := value.([]any)
	return isObject || isList
}

// changed returns another value for a field; ok is false if it is removed.
func (c *choices) changed(value any) (changed any, ok bool) {
	switch c.upTo(4) {
	case 0:
		return nil, false
	case 1:
		return nil, true
	}
	switch v := value.(type) {
	case map[string]any:
		return map[string]any{}, true
	case []any:
		return []any{}, true
	case string:
		return []any{v + "x", "other", float64(c.upTo(70000)), "é\"\\<", ""}[c.upTo(5)], true
	case float64:
		return v + float64(1+c.upTo(3)), true
	case bool:
		return !v, true
	default:
		return "was null", true
	}
}

func (c *choices) variedList(list []any, place schema.Schema, one int) any {
	out, strategy := []any{}, place.Strategy()
	for _, element := range list {
		switch {
		case c.oneIn(one):
		case strategy.List == schema.ReplaceList && one > 3 && c.oneIn(one):
			out = append(out, "other")
		case strategy.List == schema.MergeByKey:
			out = append(out, c.varied(element, place.Element(), one, strategy.Keys))
		default:
			out = append(out, element)
		}
	}
	if one > 3 && len(list) > 0 && c.oneIn(one/3) && !isNew(list, strategy) {
		out = slices.Insert(out, c.upTo(len(out)+1), renamed(list[0], strategy))
	}
	if one > 3 && c.oneIn(one/3) {
		slices.Reverse(out)
	}
	return out
}

// renamed returns a new element like another one.
func renamed(element any, strategy schema.Strategy) any {
	object, ok := element.(map[string]any)
	if !ok {
		return "new"
	}
	object = maps.Clone(object)
	for _, key := range strategy.Keys {
		if _, isNumber := object[key].(float64); isNumber {
			object[key] = 65000.0
		} else {
			object[key] = "new"
		}
	}
	return object
}

// isNew reports whether a list that merges has a new element already.
func isNew(list []any, strategy schema.Strategy) bool {
	return slices.ContainsFunc(list, func(element any) bool {
		if object, ok := element.(map[string]any); ok && strategy.List == schema.MergeByKey {
			return object[strategy.Keys[0]] == "new" || object[strategy.Keys[0]] == 65000.0
		}
		return element == "new"
	})
}
