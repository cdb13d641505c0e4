package merge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/merge"
)

// sample is a realistic object to derive base, manifest and live from.
type sample struct {
	name    string
	decoded map[string]any
	typed   runtime.Object // an empty one of its Go type
	schema  merge.Schema
}

// sampleObjects returns those of testdata/objects, in the order of their names.
func sampleObjects(tb testing.TB) []sample {
	tb.Helper()
	paths, err := filepath.Glob("testdata/objects/*.yaml")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no objects to merge: %v", err)
	}
	var types merge.Types
	all := make([]sample, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		o := sample{name: strings.TrimSuffix(filepath.Base(path), ".yaml")}
		if err := yaml.Unmarshal(text, &o.decoded); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		o.typed = typedLike(tb, o.decoded)
		o.schema = types.Of(o.typed)
		all[i] = o
	}
	return all
}

func typedLike(tb testing.TB, decoded map[string]any) runtime.Object {
	tb.Helper()
	gvk := schema.FromAPIVersionAndKind(fmt.Sprint(decoded["apiVersion"]), fmt.Sprint(decoded["kind"]))
	typed, err := clientgoscheme.Scheme.New(gvk)
	if err != nil {
		tb.Fatal(err)
	}
	return typed
}

func toJSON(tb testing.TB, value any) []byte {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// choices makes decisions from a script of bytes, so that a fuzzer can find its way; when that is used up, each is 0.
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

// inputs derives a base, a manifest and a live object: all of them start as the whole object, the base and manifest
// without much of what an author does not write, and each goes through changes of its own.
func (c *choices) inputs(o sample) (base, manifest, live map[string]any) {
	written := c.thinned(o.decoded, o.schema, 3)
	mutated := func(value map[string]any, most int) map[string]any {
		value = runtime.DeepCopyJSON(normal(value))
		for range c.upTo(most + 1) {
			c.mutate(value, o.schema, o.decoded)
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

// normal returns a copy with int64 and float64 numbers only, which is what DeepCopyJSON takes.
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

// thinned returns an object without some of its members, one in so many on average.
func (c *choices) thinned(value map[string]any, schema merge.Schema, one int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if name == "status" || !slices.Contains([]string{"name", "metadata", "spec", "apiVersion", "kind", "template"}, name) && c.oneIn(one) {
			continue
		}
		out[name] = value[name]
		field := schema.Field(name)
		switch inner := value[name].(type) {
		case map[string]any:
			out[name] = c.thinned(inner, field, one)
		case []any:
			if strategy := field.Strategy(); strategy.List == merge.MergeByKey {
				out[name] = c.thinnedList(inner, field, one)
			}
		}
	}
	return out
}

func (c *choices) thinnedList(list []any, field merge.Schema, one int) []any {
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

// mutate changes one place of value; whole is where it came from.
func (c *choices) mutate(value map[string]any, schema merge.Schema, whole map[string]any) {
	names := slices.Sorted(maps.Keys(value))
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(whole)), func(name string) bool { _, ok := value[name]; return ok })
	if len(names) == 0 || len(missing) > 0 && c.oneIn(8) {
		if len(missing) > 0 {
			name := missing[c.upTo(len(missing))]
			value[name] = runtime.DeepCopyJSONValue(normalValue(whole[name]))
		}
		return
	}
	name := names[c.upTo(len(names))]
	if !c.oneIn(7) {
		switch inner := value[name].(type) {
		case map[string]any:
			within, _ := whole[name].(map[string]any)
			c.mutate(inner, schema.Field(name), within)
			return
		case []any:
			value[name] = c.mutateList(inner, schema.Field(name), whole[name])
			return
		}
	}
	c.replace(value, name)
}

func (c *choices) replace(value map[string]any, name string) {
	switch c.upTo(5) {
	case 0:
		delete(value, name)
	case 1:
		value[name] = nil
	case 2:
		switch v := value[name].(type) {
		case map[string]any:
			value[name] = map[string]any{}
		case []any:
			value[name] = []any{}
		case string:
			value[name] = v + fmt.Sprint(c.upTo(3))
		case int64:
			value[name] = v + int64(c.upTo(3))
		case bool:
			value[name] = !v
		}
	case 3:
		if _, scalar := value[name].(string); scalar {
			value[name] = []any{"other", int64(c.upTo(70000)), "é\"\\<", ""}[c.upTo(4)]
		}
	default:
		value["x"+name] = "new"
	}
}

func (c *choices) mutateList(list []any, schema merge.Schema, whole any) []any {
	strategy := schema.Strategy()
	if len(list) == 0 {
		all, _ := whole.([]any)
		copied, _ := runtime.DeepCopyJSONValue(normalValue(all)).([]any)
		return append([]any{}, copied...)
	}
	i := c.upTo(len(list))
	switch c.upTo(6) {
	case 0:
		return slices.Delete(list, i, i+1)
	case 1:
		j := c.upTo(len(list))
		list[i], list[j] = list[j], list[i]
		return list
	case 2:
		return c.insert(list, i, strategy)
	default:
		switch element := list[i].(type) {
		case map[string]any:
			kept := map[string]any{}
			for _, key := range strategy.Keys {
				kept[key] = element[key]
			}
			c.mutate(element, schema.Element(), c.counterpart(whole, strategy, kept))
			maps.Copy(element, kept)
		case string:
			if strategy.List != merge.MergeSet {
				list[i] = element + "!"
			}
		}
		return list
	}
}

// insert puts a new element in a list, one that it does not have by then.
func (c *choices) insert(list []any, at int, strategy merge.Strategy) []any {
	fresh := fmt.Sprintf("n%d", c.upTo(4))
	var element any = fresh
	if like, ok := list[at].(map[string]any); ok {
		object := runtime.DeepCopyJSON(like)
		for _, key := range strategy.Keys {
			object[key] = fresh
			if _, number := like[key].(int64); number {
				object[key] = int64(1000 + c.upTo(4))
			}
		}
		element = object
	}
	same := func(other any) bool {
		if strategy.List == merge.MergeByKey {
			a, _ := element.(map[string]any)
			b, _ := other.(map[string]any)
			return a[strategy.Keys[0]] == b[strategy.Keys[0]]
		}
		return apiequality.Semantic.DeepEqual(element, other)
	}
	if strategy.List != merge.ReplaceList && slices.ContainsFunc(list, same) {
		return list
	}
	if _, number := list[at].(int64); number {
		element = int64(1000)
	}
	return slices.Insert(list, c.upTo(len(list)+1), element)
}

// counterpart returns the element of the whole object that has the same key.
func (c *choices) counterpart(whole any, strategy merge.Strategy, keys map[string]any) map[string]any {
	list, _ := whole.([]any)
	for _, element := range list {
		object, _ := element.(map[string]any)
		if len(strategy.Keys) > 0 && apiequality.Semantic.DeepEqual(normalValue(object[strategy.Keys[0]]), keys[strategy.Keys[0]]) {
			return object
		}
	}
	return nil
}
