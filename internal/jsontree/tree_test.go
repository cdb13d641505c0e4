package jsontree_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/test/document"
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
			if name := o["name"]; ok && name != nil && isScalar(name) && r.IntN(2) == 0 {
				key := value.FieldList{{Name: "name", Value: value.NewValueInterface(name)}, {Name: "protocol", Value: value.NewValueInterface("TCP")}}
				element = fieldpath.PathElement{Key: &key}
			} else if isScalar(part) && r.IntN(2) == 0 {
				element = fieldpath.ValueElement(value.NewValueInterface(part))
			}
			paths(r, part, add(element), to)
		}
		add(fieldpath.IndexElement(9))
	}
}

// generatedObject returns an object and its text, with paths to all of its parts and to some that it does not have.
func generatedObject(t *testing.T, r *rand.Rand) (object any, text []byte, all []fieldpath.Path) {
	t.Helper()
	object = map[string]any{"spec": generated(r, 4), "other": generated(r, 3)}
	text, err := json.MarshalIndent(object, "", []string{"", " "}[r.IntN(2)])
	expect.NoError(t, err)
	paths(r, object, nil, &all)
	return object, text, all
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
		object, text, all := generatedObject(t, r)
		root, err := jsontree.Parse(text)
		expect.NoError(t, err)
		for _, path := range all {
			want, found := document.Get(object, path)
			got := root.Find(path)
			if (got != nil) != found || found && jsontest.Diff(t, string(jsontest.Encode(t, want)), string(got.Text())) != "" {
				t.Fatalf("%s of %s: got %s, want %v", path, text, got.Text(), want)
			}
		}
	}
}
