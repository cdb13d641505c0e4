package fieldtree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/value"

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
