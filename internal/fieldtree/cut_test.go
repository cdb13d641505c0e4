package fieldtree_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontest"
)

func TestCut(t *testing.T) {
	for sentence, c := range map[string]struct {
		text  string
		paths []fieldpath.Path
		want  string // empty for no change
	}{
		"the first of several members":         {`{"a":1,"b":2}`, []fieldpath.Path{path("a")}, `{"b":2}`},
		"the last of several members":          {`{"a":1,"b":2}`, []fieldpath.Path{path("b")}, `{"a":1}`},
		"one in the middle":                    {`{"a":1,"b":2,"c":3}`, []fieldpath.Path{path("b")}, `{"a":1,"c":3}`},
		"the first and the last":               {`{"a":1,"b":2,"c":3}`, []fieldpath.Path{path("a"), path("c")}, `{"b":2}`},
		"the last two":                         {`{"a":1,"b":2,"c":3}`, []fieldpath.Path{path("b"), path("c")}, `{"a":1}`},
		"the only member of the root":          {`{"a":1}`, []fieldpath.Path{path("a")}, `{}`},
		"all members of the root":              {`{ "a" : 1 , "b" : 2 }`, []fieldpath.Path{path("a"), path("b")}, `{  }`},
		"white space elsewhere stays":          {"{ \"a\" : 1 ,\n \"b\" : [ 1 , 2 ] , \"c\": 3 }\n", []fieldpath.Path{path("a")}, "{ \"b\" : [ 1 , 2 ] , \"c\": 3 }\n"},
		"a parent that is empty then":          {`{"a":{"b":{"c":1}},"d":2}`, []fieldpath.Path{path("a", "b", "c")}, `{"d":2}`},
		"not a parent that has more":           {`{"a":{"b":{"c":1},"e":1},"d":2}`, []fieldpath.Path{path("a", "b", "c")}, `{"a":{"e":1},"d":2}`},
		"not a parent that was empty before":   {`{"a":{},"d":2}`, []fieldpath.Path{path("a", "b"), path("d")}, `{"a":{}}`},
		"a parent with its fields":             {`{"a":{"b":1,"c":{"d":1}},"e":2}`, []fieldpath.Path{path("a"), path("a", "b"), path("a", "c", "d")}, `{"e":2}`},
		"a parent of which all fields go":      {`{"a":{"b":1,"c":{"d":1}},"e":2}`, []fieldpath.Path{path("a", "b"), path("a", "c", "d")}, `{"e":2}`},
		"an element that is empty then stays":  {`{"l":[{"x":1},{"x":2}]}`, []fieldpath.Path{path("l", 0, "x")}, `{"l":[{},{"x":2}]}`},
		"an element":                           {`{"l":[{"name":"a"},{"name":"b"}]}`, []fieldpath.Path{path("l", named("a"))}, `{"l":[{"name":"b"}]}`},
		"all elements, and their list":         {`{"l":["a","b"],"x":1}`, []fieldpath.Path{path("l", value.NewValueInterface("a")), path("l", value.NewValueInterface("b"))}, `{"x":1}`},
		"the first of two elements with a key": {`{"l":[{"name":"a","x":1},{"name":"a","x":2}]}`, []fieldpath.Path{path("l", named("a"), "x")}, `{"l":[{"name":"a"},{"name":"a","x":2}]}`},
		"a list in a list stays":               {`{"l":[[1],[2]]}`, []fieldpath.Path{path("l", 1, 0)}, `{"l":[[1],[]]}`},
		"a name that is escaped":               {`{"\u0061":1,"b":"\u0061"}`, []fieldpath.Path{path("a")}, `{"b":"\u0061"}`},
		"text that looks like a member":        {`{"a":"{\"b\":1}","b":1}`, []fieldpath.Path{path("b"), path("a", "b")}, `{"a":"{\"b\":1}"}`},
		"null":                                 {`{"a":null,"b":1}`, []fieldpath.Path{path("a")}, `{"b":1}`},
		"what is not there":                    {`{"a":{"b":1}}`, []fieldpath.Path{path("a", "c"), path("x")}, ``},
		"an empty text":                        {``, []fieldpath.Path{path("a")}, ``},
		"no paths":                             {`{"a":1}`, nil, ``},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree, _ := treeOf(c.paths...)
			want, wantChanged := c.want, true
			if want == "" {
				want, wantChanged = c.text, false
			}
			got, changed := tree.Cut([]byte(c.text), nil, nil)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
			if changed != wantChanged {
				t.Errorf("changed: want %t, got %t", wantChanged, changed)
			}
		})
	}
}

func TestCutKeepsEmptiedNodes(t *testing.T) {
	text := `{"m":{"a":{"x":{"y":1}}},"n":1}`
	for sentence, c := range map[string]struct {
		keep string
		want string
	}{
		"the outermost":    {"m", `{"m":{},"n":1}`},
		"one in between":   {"a", `{"m":{"a":{}},"n":1}`},
		"the innermost":    {"x", `{"m":{"a":{"x":{}}},"n":1}`},
		"a wanted one not": {"y", `{"n":1}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree, _ := treeOf(path("m", "a", "x", "y"))
			keep := func(n *fieldtree.Node) bool { return *n.Element.FieldName == c.keep }
			got, _ := tree.Cut([]byte(text), keep, nil)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutKeepsEmptiedNodesInGeneratedTexts(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		text := generated(random, false)
		paths := newPicker(random.IntN).paths(jsontest.Decode(t, text), 1+random.IntN(8))
		tree, _ := treeOf(paths...)
		isKept := func(element fieldpath.PathElement) bool {
			return element.FieldName != nil && len(*element.FieldName)%2 == 1
		}
		got, _ := tree.Cut(text, func(n *fieldtree.Node) bool { return isKept(n.Element) }, nil)
		want := withoutPaths(t, text, paths, true, func(p fieldpath.Path) bool { return isKept(p[len(p)-1]) })
		if diff := cmp.Diff(compacted(t, want), compacted(t, got)); diff != "" {
			t.Errorf("cut %s of %s (-want +got):\n%s", paths, text, diff)
		}
	})
}

func TestEqual(t *testing.T) {
	for sentence, c := range map[string]struct {
		a, b  string
		paths []fieldpath.Path
		want  bool
	}{
		"the same text":                                 {`{"a":1}`, `{"a":1}`, nil, true},
		"another value":                                 {`{"a":1}`, `{"a":2}`, nil, false},
		"another value at a wanted path":                {`{"a":1}`, `{"a":2}`, []fieldpath.Path{path("a")}, true},
		"another type at a wanted path":                 {`{"a":1}`, `{"a":{"b":[]}}`, []fieldpath.Path{path("a")}, true},
		"a wanted path that one lacks":                  {`{"a":1,"b":2}`, `{"b":2}`, []fieldpath.Path{path("a")}, true},
		"another path that one lacks":                   {`{"a":1,"b":2}`, `{"b":2}`, []fieldpath.Path{path("b")}, false},
		"a parent that one lacks":                       {`{"a":{"b":1}}`, `{}`, []fieldpath.Path{path("a", "b")}, false},
		"a parent of another type":                      {`{"a":{"b":1}}`, `{"a":[1]}`, []fieldpath.Path{path("a", "b")}, false},
		"another value beside a nested path":            {`{"a":{"b":1,"c":1}}`, `{"a":{"b":2,"c":2}}`, []fieldpath.Path{path("a", "b")}, false},
		"other names of as many members":                {`{"a":{"x":1}}`, `{"a":{"y":1}}`, []fieldpath.Path{path("a", "b")}, false},
		"an element with another value at a path":       {`{"l":[{"name":"a","x":1}]}`, `{"l":[{"name":"a","x":2}]}`, []fieldpath.Path{path("l", named("a"), "x")}, true},
		"an element that one lacks":                     {`{"l":[{"name":"a"},{"name":"b"}]}`, `{"l":[{"name":"b"}]}`, []fieldpath.Path{path("l", named("a"))}, true},
		"another element in the place of a wanted one":  {`{"l":[{"name":"a"}]}`, `{"l":[{"name":"b"}]}`, []fieldpath.Path{path("l", named("a"))}, false},
		"the elements in another order":                 {`{"l":["a","b"]}`, `{"l":["b","a"]}`, []fieldpath.Path{path("x")}, false},
		"a wanted element elsewhere in the list":        {`{"l":["a","b"]}`, `{"l":["b","a"]}`, []fieldpath.Path{path("l", value.NewValueInterface("a"))}, true},
		"another value in a further element with a key": {`{"l":[{"name":"a"},{"name":"a","x":1}]}`, `{"l":[{"name":"a"},{"name":"a","x":2}]}`, []fieldpath.Path{path("l", named("a"), "x")}, false},
		"a longer list":                                 {`{"l":[1]}`, `{"l":[1,1]}`, []fieldpath.Path{path("l", 5)}, false},
		"two empty texts":                               {``, ``, []fieldpath.Path{path("a")}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree, _ := treeOf(c.paths...)
			for _, texts := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
				if got := tree.Equal([]byte(texts[0]), []byte(texts[1]), nil); got != c.want {
					t.Errorf("%s and %s: want %t, got %t", texts[0], texts[1], c.want, got)
				}
			}
		})
	}
}
