package fieldtree_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestIsLeaf(t *testing.T) {
	for sentence, c := range map[string]struct {
		fields string
		want   bool
	}{
		"nothing below":                  {`{}`, true},
		"only the container itself":      {`{".":{}}`, true},
		"a field":                        {`{"f:a":{}}`, false},
		"the container and a field":      {`{".":{},"f:a":{}}`, false},
		"the container, with spaces":     {"{ \".\" : { } }", true},
		"the container, spaces, a field": {"{ \".\" : { } , \"f:a\" : { } }", false},
		"an element":                     {`{"k:{\"name\":\".\"}":{}}`, false},
		"no object":                      {`1`, true},
		"an empty text":                  {``, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := fieldtree.IsLeaf(jsontree.Valid([]byte(c.fields))); got != c.want {
				t.Errorf("want %t, got %t", c.want, got)
			}
		})
	}
}

// within matches paths and all that is nested under them. Its keys are the paths' prefixes, as managedFields write their
// elements; the value is true for a whole path.
type within map[string]bool

func withinOf(t *testing.T, paths ...fieldpath.Path) within {
	t.Helper()
	w := within{}
	for _, p := range paths {
		at := ""
		for i, element := range p {
			key, err := fieldpath.SerializePathElement(element)
			if err != nil {
				t.Fatal(err)
			}
			at += "\n" + key
			w[at] = w[at] || i == len(p)-1
		}
	}
	return w
}

func (w within) step(at, key string) (next string, all, ok bool) {
	all, ok = w[at+"\n"+key]
	return at + "\n" + key, all, ok
}

func want(n *fieldtree.Node) { n.Wanted = true }

func TestAddMatchingAddsLeafFields(t *testing.T) {
	for sentence, c := range map[string]struct {
		fields string
		within []fieldpath.Path
		want   []string
	}{
		"a field that is wanted":                   {`{"f:a":{},"f:b":{}}`, []fieldpath.Path{path("a")}, []string{".a"}},
		"the fields below a wanted one":            {`{"f:a":{".":{},"f:b":{".":{},"f:c":{}},"f:d":{}}}`, []fieldpath.Path{path("a")}, []string{".a.b.c", ".a.d"}},
		"a container without fields":               {`{"f:a":{".":{}}}`, []fieldpath.Path{path("a")}, []string{".a"}},
		"not the parent of a wanted field":         {`{"f:a":{}}`, []fieldpath.Path{path("a", "b")}, nil},
		"not a field beside a wanted one":          {`{"f:a":{"f:c":{}}}`, []fieldpath.Path{path("a", "b")}, nil},
		"elements below a wanted field":            {`{"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:y":{}},"v:1":{}}}`, []fieldpath.Path{path("l")}, []string{`.l[=1]`, `.l[name="x"].y`}},
		"an element that is wanted":                {`{"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:y":{}},"k:{\"name\":\"z\"}":{}}}`, []fieldpath.Path{path("l", named("x"))}, []string{`.l[name="x"].y`}},
		"nothing of an empty set":                  {`{}`, []fieldpath.Path{path("a")}, nil},
		"nothing of a text that is no set":         {`[1]`, []fieldpath.Path{path("a")}, nil},
		"nothing of an element that is not wanted": {`{"x":{},"f:a":{}}`, []fieldpath.Path{path("a")}, []string{".a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := &fieldtree.Tree{}
			if err := fieldtree.AddMatching(got, jsontree.Valid([]byte(c.fields)), "", withinOf(t, c.within...).step, want, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, wanted(got)); diff != "" {
				t.Errorf("wanted paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddMatchingReportsInvalidElements(t *testing.T) {
	for _, name := range []string{"x", "", "q:1", "k:1", "v:{", "i:x"} {
		err := fieldtree.AddMatching(&fieldtree.Tree{}, jsontree.Valid([]byte(`{"f:a":{"`+name+`":{}}}`)), "", withinOf(t, path("a")).step, want, nil)
		if !errors.Is(err, fieldtree.ErrElement) || err.Error() != fieldtree.ErrElement.Error() {
			t.Errorf("%q: want %v, got %v", name, fieldtree.ErrElement, err)
		}
	}
}

func TestAddMatchingStopsAtMaxDepth(t *testing.T) {
	for _, depth := range []int{fieldtree.MaxDepth, fieldtree.MaxDepth + 1} {
		set := fieldpath.NewSet(nested(depth))
		fields, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		got := &fieldtree.Tree{}
		if err := fieldtree.AddMatching(got, jsontree.Valid(fields), "", withinOf(t, path("0")).step, want, nil); err != nil {
			t.Fatal(err)
		}
		if want := depth <= fieldtree.MaxDepth; (len(wanted(got)) == 1) != want || got.Len() > fieldtree.MaxDepth {
			t.Errorf("depth %d: %d nodes, wanted %s", depth, got.Len(), wanted(got))
		}
	}
}
