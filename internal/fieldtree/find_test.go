package fieldtree_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestFindFindsAllPathsInOnePass(t *testing.T) {
	text := []byte(`{"l":[{"name":"a","x":{"y":1}},"s",{"name":"b","x":2}],"m":{"n":3}}`)
	want := map[string]string{
		".l": `[{"name":"a","x":{"y":1}},"s",{"name":"b","x":2}]`, `.l[name="a"].x.y`: "1", `.l[name="a"].x`: `{"y":1}`,
		`.l[name="b"].x`: "2", `.l[="s"]`: `"s"`, ".m.n": "3", ".m.o": "",
	}
	tree, nodes := treeOf(path("m", "n"), path("l", named("b"), "x"), path("l"), path("l", named("a"), "x", "y"),
		path("l", value.NewValueInterface("s")), path("m", "o"), path("l", named("a"), "x"))
	places := tree.Find(jsontree.Valid(text))
	got := map[string]string{}
	for _, n := range nodes {
		got[n.Path().String()] = string(places.Of(n).Text())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestAddLeaves(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want []string
	}{
		"a scalar":                             {`{"a":1}`, []string{".a"}},
		"each scalar in objects":               {`{"a":{"b":1,"c":{"d":"x","e":false}},"f":1}`, []string{".a.b", ".a.c.d", ".a.c.e", ".f"}},
		"null and an empty object add nothing": {`{"a":{"b":null,"c":{},"d":{"e":{}}}}`, nil},
		"a list":                               {`{"a":{"b":[{"c":1}],"d":[]}}`, []string{".a.b", ".a.d"}},
		"names that are escaped":               {`{"\u0061":{"\"":1}}`, []string{`.a."`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			into := &fieldtree.Tree{}
			into.AddLeaves(jsontree.Valid([]byte(c.text)))
			if diff := cmp.Diff(c.want, wanted(into)); diff != "" {
				t.Errorf("leaves (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddLeavesAddsDeepValuesAsLeaves(t *testing.T) {
	text := "1"
	for i := range fieldtree.MaxDepth + 5 {
		text = fmt.Sprintf(`{"%d":%s}`, fieldtree.MaxDepth+4-i, text)
	}
	into := &fieldtree.Tree{}
	into.AddLeaves(jsontree.Valid([]byte(text)))
	if diff := cmp.Diff([]string{nested(fieldtree.MaxDepth).String()}, wanted(into)); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
}
