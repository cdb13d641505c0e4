package jsonindex_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/ownership"
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

// isScalar leaves out what is no key of a list.
func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

func TestAnIndexAgreesWithOwnership(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // not for secrets
	for range 3000 {
		object := map[string]any{"spec": generated(r, 4), "other": generated(r, 3)}
		text, err := json.MarshalIndent(object, "", []string{"", " "}[r.IntN(2)])
		if err != nil {
			t.Fatal(err)
		}
		o, err := ownership.ParseObject(text)
		if err != nil {
			t.Fatal(err)
		}
		var all []fieldpath.Path
		paths(r, object, nil, &all)
		index := jsonindex.New(text)
		for _, path := range all {
			want := o.Locate(path)
			pointer, ok := index.Pointer(path)
			if !bytes.Equal(index.Value(path), o.Value(path)) || ok != (want.Value != nil) || ok && pointer != want.Pointer {
				t.Fatalf("%s of %s: got %s at %s, want %s at %s", path, text, index.Value(path), pointer, o.Value(path), want.Pointer)
			}
		}
		path := all[r.IntN(len(all))]
		index.Cut(path, func(fieldpath.Path) bool { return false })
		if got, want := string(index.Text()), string(ownership.Cut(text, path)); jsontest.Diff(t, want, got) != "" || want == string(text) && got != want {
			t.Fatalf("%s cut out of %s: got %s, want %s", path, text, got, want)
		}
	}
}

func TestWhatIsEmptiedGoesAsFarAsItMay(t *testing.T) {
	for _, c := range []struct {
		text, want string
		depth      int // of what may go
	}{
		{`{"a":{"b":{"c":1}},"d":2}`, `{"d":2}`, 1},
		{`{"a":{"b":{"c":1,"x":2}},"d":2}`, `{"a":{"b":{"x":2}},"d":2}`, 1},
		{`{"a":{"b":{"c":1},"e":{}}}`, `{"a":{"e":{}}}`, 1},
		{`{"a": {"b": {"c": 1}}}`, `{"a": {}}`, 2},
	} {
		index := jsonindex.New([]byte(c.text))
		canGo := func(path fieldpath.Path) bool { return len(path) >= c.depth }
		if got := index.Cut(fieldpath.MakePathOrDie("a", "b", "c"), canGo); string(got) != "1" {
			t.Errorf("%s: cut %s", c.text, got)
		}
		if got := string(index.Text()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}
