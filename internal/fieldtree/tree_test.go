package fieldtree_test

import (
	"slices"
	"strconv"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func path(elements ...any) fieldpath.Path { return fieldpath.MakePathOrDie(elements...) }

func named(name string) *value.FieldList { return fieldpath.KeyByFields("name", name) }

func nested(depth int) fieldpath.Path {
	p := make(fieldpath.Path, 0, depth)
	for i := range depth {
		p = append(p, fieldpath.FieldNameElement(strconv.Itoa(i)))
	}
	return p
}

// wanted returns the wanted paths of a tree.
func wanted(tree *fieldtree.Tree) []string {
	var paths []string
	for _, n := range tree.Nodes() {
		if n.Wanted {
			paths = append(paths, n.Path().String())
		}
	}
	slices.Sort(paths)
	return paths
}

// treeOf returns a tree of paths, and their nodes.
func treeOf(paths ...fieldpath.Path) (*fieldtree.Tree, []*fieldtree.Node) {
	tree := &fieldtree.Tree{}
	nodes := make([]*fieldtree.Node, len(paths))
	for i, path := range paths {
		nodes[i] = tree.Add(path)
	}
	return tree, nodes
}

func TestAdd(t *testing.T) {
	for sentence, c := range map[string]struct {
		paths  []fieldpath.Path
		nodes  int
		wanted []string
	}{
		"the empty path is not added":                   {[]fieldpath.Path{{}}, 0, nil},
		"a path adds a node for each element":           {[]fieldpath.Path{path("a", "b", "c")}, 3, []string{".a.b.c"}},
		"the beginning of another path can be wanted":   {[]fieldpath.Path{path("a", "b"), path("a")}, 2, []string{".a", ".a.b"}},
		"a field, an index and a value can look alike":  {[]fieldpath.Path{path("1"), path(1), path(value.NewValueInterface(1))}, 3, []string{".1", "[1]", "[=1]"}},
		"the fields of a key can come in any order":     {[]fieldpath.Path{path(fieldpath.KeyByFields("a", 1, "b", 2)), path(fieldpath.KeyByFields("b", 2, "a", 1))}, 1, []string{`[a=1,b=2]`}},
		"a path of MaxDepth elements is added":          {[]fieldpath.Path{nested(jsontree.MaxDepth)}, jsontree.MaxDepth, []string{nested(jsontree.MaxDepth).String()}},
		"a longer path is not added":                    {[]fieldpath.Path{nested(jsontree.MaxDepth + 1)}, 0, nil},
		"a path with an element of no kind is not kept": {[]fieldpath.Path{{{}}}, 0, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree, nodes := treeOf(c.paths...)
			expect.Equal(t, "wanted paths", c.wanted, wanted(tree))
			if tree.Len() != c.nodes || len(tree.Nodes()) != c.nodes {
				t.Errorf("want %d nodes, got %d and %d", c.nodes, tree.Len(), len(tree.Nodes()))
			}
			for id, n := range tree.Nodes() {
				if n.ID != id || n.Depth() != len(n.Path()) || n.Parent() != nil && n.Parent().ID >= id {
					t.Errorf("node %d has ID %d, depth %d, path %s", id, n.ID, n.Depth(), n.Path())
				}
			}
			for i, n := range nodes {
				if n != nil && !n.Path().Equals(c.paths[i]) {
					t.Errorf("%s is added as %s", c.paths[i], n.Path())
				}
			}
		})
	}
}

func TestIsKey(t *testing.T) {
	for sentence, c := range map[string]struct {
		path fieldpath.Path
		want bool
	}{
		"a field of the key of an element": {path("a", named("app"), "name"), true},
		"another field of the element":     {path("a", named("app"), "image"), false},
		"a field with the name of the key": {path("a", named("app"), "x", "name"), false},
	} {
		expect.Equal(t, sentence, c.want, (&fieldtree.Tree{}).Add(c.path).IsKey())
	}
}

func TestHas(t *testing.T) {
	tree, _ := treeOf(path("a", "b"), path("a", "b", "c"), path("list", named("x"), "y"))
	tree.AddUnwanted(path("u", "v"))
	for sentence, c := range map[string]struct {
		path fieldpath.Path
		has  bool
	}{
		"a wanted path":                      {path("a", "b"), true},
		"a path below a wanted one":          {path("a", "b", "x", "y"), true},
		"a wanted path below a wanted one":   {path("a", "b", "c"), true},
		"the beginning of a wanted path":     {path("a"), true},
		"a path beside a wanted one":         {path("a", "c"), false},
		"a path that leaves and would enter": {path("b", "b"), false},
		"a path that comes back to a name":   {path("a", "x", "b"), false},
		"an element":                         {path("list", named("x"), "y"), true},
		"another element":                    {path("list", named("z"), "y"), false},
		"a path that is not wanted":          {path("u", "v"), false},
		"a path below one that is not":       {path("u", "v", "w"), false},
	} {
		expect.Equal(t, sentence, c.has, tree.Has(c.path))
	}
}
