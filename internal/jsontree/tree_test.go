package jsontree_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// generated is an object with lists of all sorts.
func generated(r *rand.Rand, depth int) any {
	switch n := r.IntN(7); {
	case depth == 0 || n == 0:
		return []any{"a", "TCP", 1, 1.5, true, nil, "", "b,c"}[r.IntN(8)]
	case n < 4:
		o := map[string]any{}
		for range r.IntN(4) {
			o[[]string{"name", "port", "protocol", "spec", "a/b~", "x"}[r.IntN(6)]] = generated(r, depth-1)
		}
		return o
	default:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = generated(r, depth-1)
		}
		return list
	}
}

// paths lead to all parts of a value, and to some that are not there.
func paths(r *rand.Rand, v any, at fieldpath.Path, to *[]fieldpath.Path) {
	add := func(e fieldpath.PathElement) fieldpath.Path {
		path := append(at.Copy(), e)
		*to = append(*to, path)
		return path
	}
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			paths(r, part, add(fieldpath.FieldNameElement(name)), to)
		}
		add(fieldpath.FieldNameElement("nosuch"))
	case []any:
		for i, part := range v {
			element := fieldpath.IndexElement(i)
			o, ok := part.(map[string]any)
			if ok && isScalar(o["name"]) && r.IntN(2) == 0 {
				key := value.FieldList{{Name: "name", Value: value.NewValueInterface(o["name"])}, {Name: "protocol", Value: value.NewValueInterface("TCP")}}
				element = fieldpath.PathElement{Key: &key}
			} else if isScalar(part) && r.IntN(2) == 0 {
				element = fieldpath.ValueElement(value.NewValueInterface(part))
			}
			paths(r, part, add(element), to)
		}
		add(fieldpath.IndexElement(9))
	}
}

// generatedObject returns the text of an object, with paths to all of its parts and to some that it does not have.
func generatedObject(t *testing.T, r *rand.Rand) (text []byte, all []fieldpath.Path) {
	t.Helper()
	object := map[string]any{"spec": generated(r, 4), "other": generated(r, 3)}
	text, err := json.MarshalIndent(object, "", []string{"", " "}[r.IntN(2)])
	if err != nil {
		t.Fatal(err)
	}
	paths(r, object, nil, &all)
	return text, all
}

// isScalar leaves out what is no key of a list.
func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

// TestLookupsAgreeWithDecodedValues generates objects, and compares each field with the decoded value at its path.
func TestLookupsAgreeWithDecodedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // not for secrets
	for range 3000 {
		text, all := generatedObject(t, r)
		root, err := jsontree.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		decoded := jsontest.Decode(t, text)
		for _, path := range all {
			want, found := lookUp(decoded, path)
			got := root.Find(path)
			if (got != nil) != found || found && jsontest.Diff(t, string(jsontest.Encode(t, want)), string(got.Text())) != "" {
				t.Fatalf("%s of %s: got %s, want %v", path, text, got.Text(), want)
			}
		}
	}
}

// lookUp finds a decoded value by comparing each element of a list with the path.
func lookUp(v any, path fieldpath.Path) (found any, ok bool) {
	for _, element := range path {
		object, isObject := v.(map[string]any)
		list, _ := v.([]any)
		switch {
		case element.FieldName != nil:
			if v, ok = object[*element.FieldName]; !ok {
				return nil, false
			}
			continue
		case isObject:
			return nil, false
		}
		i := slices.IndexFunc(list, func(part any) bool { return isMeant(part, element) })
		if element.Index != nil {
			i = *element.Index
		}
		if i < 0 || i >= len(list) {
			return nil, false
		}
		v = list[i]
	}
	return v, true
}

// isMeant reports whether an element of a list has the value or the key of a path element.
func isMeant(part any, element fieldpath.PathElement) bool {
	if element.Value != nil {
		return isScalar(part) && value.Equals(value.NewValueInterface(plain(part)), *element.Value)
	}
	object, _ := part.(map[string]any)
	if element.Key == nil || object == nil {
		return false
	}
	for _, field := range *element.Key {
		v, ok := object[field.Name]
		if !ok && field.Name == "protocol" {
			v, ok = "TCP", true
		}
		if !ok || !isScalar(v) || !value.Equals(value.NewValueInterface(plain(v)), field.Value) {
			return false
		}
	}
	return true
}

// plain returns a number as structured-merge-diff reads it.
func plain(v any) any {
	number, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := number.Int64(); err == nil {
		return i
	}
	f, _ := number.Float64()
	return f
}

func TestCutRemovesEmptiedParents(t *testing.T) {
	for _, c := range []struct {
		text, want string
		depth      int // of what may go
	}{
		{`{"a":{"b":{"c":1}},"d":2}`, `{"d":2}`, 1},
		{`{"a":{"b":{"c":1,"x":2}},"d":2}`, `{"a":{"b":{"x":2}},"d":2}`, 1},
		{`{"a":{"b":{"c":1},"e":{}}}`, `{"a":{"e":{}}}`, 1},
		{`{"a": {"b": {"c": 1}}}`, `{"a": {}}`, 2},
	} {
		root := jsontree.Valid([]byte(c.text))
		canGo := func(path fieldpath.Path) bool { return len(path) >= c.depth }
		if got := root.Cut(fieldpath.MakePathOrDie("a", "b", "c"), canGo); string(got.Text()) != "1" {
			t.Errorf("%s: cut %s", c.text, got.Text())
		}
		if got := string(root.Remaining()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}
