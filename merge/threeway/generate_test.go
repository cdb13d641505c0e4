package threeway_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/merge/schema"
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
		text, err := os.ReadFile(path) //nolint:gosec // a file of this folder
		if err != nil {
			tb.Fatal(err)
		}
		o := sample{name: strings.TrimSuffix(filepath.Base(path), ".yaml")}
		if err := yaml.Unmarshal(text, &o.decoded); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		o.typed = typedLike(tb, o.decoded)
		o.place = types.Of(o.typed)
		all[i] = o
	}
	return all
}

func typedLike(tb testing.TB, decoded map[string]any) runtime.Object {
	tb.Helper()
	gvk := runtimeschema.FromAPIVersionAndKind(fmt.Sprint(decoded["apiVersion"]), fmt.Sprint(decoded["kind"]))
	typed, err := clientgoscheme.Scheme.New(gvk)
	if err != nil {
		tb.Fatal(err)
	}
	return typed
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
func (c *choices) inputs(o sample) (base, manifest, live map[string]any) {
	written := c.thinned(o.decoded, o.place, 3)
	mutated := func(value map[string]any, most int) map[string]any {
		value = runtime.DeepCopyJSON(normal(value))
		for range c.upTo(most + 1) {
			c.mutate(value, o.place, o.decoded)
		}
		return value
	}
	base = mutated(written, 4)
	manifest = mutated(base, 5)
	if c.oneIn(3) {
		manifest = mutated(written, 4)
	}
	return base, manifest, mutated(o.decoded, 5)
}

// normal returns a copy with int64 and float64 numbers only, as DeepCopyJSON requires.
func normal(value map[string]any) map[string]any {
	out, ok := normalValue(value).(map[string]any)
	if !ok {
		panic("an object is an object")
	}
	return out
}

func normalValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = normalValue(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = normalValue(inner)
		}
		return out
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
		return v
	default:
		return v
	}
}

// thinned returns an object without some of its members, on average one in the given number.
func (c *choices) thinned(value map[string]any, place schema.Schema, one int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if name == "status" || !slices.Contains([]string{"name", "metadata", "spec", "apiVersion", "kind", "template"}, name) && c.oneIn(one) {
			continue
		}
		out[name] = value[name]
		field := place.Field(name)
		switch inner := value[name].(type) {
		case map[string]any:
			out[name] = c.thinned(inner, field, one)
		case []any:
			if strategy := field.Strategy(); strategy.List == schema.MergeByKey {
				out[name] = c.thinnedList(inner, field, one)
			}
		}
	}
	return out
}

func (c *choices) thinnedList(list []any, field schema.Schema, one int) []any {
	out := []any{}
	for _, element := range list {
		if c.oneIn(one) {
			continue
		}
		object, ok := element.(map[string]any)
		if !ok {
			continue
		}
		thin := c.thinned(object, field.Element(), one)
		for _, key := range field.Strategy().Keys {
			thin[key] = object[key]
		}
		out = append(out, thin)
	}
	return out
}
