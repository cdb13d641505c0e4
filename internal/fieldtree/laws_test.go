package fieldtree_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// The functions in this file check one law each, on any input. The property tests and the fuzz targets call them.

// checkFind verifies that Find finds what a lookup of each path alone finds.
func checkFind(t *testing.T, o ownership.Object, paths []fieldpath.Path) {
	t.Helper()
	text := o.Text()
	tree, nodes := treeOf(paths...)
	places := tree.Find(text, nil)
	for i, n := range nodes {
		want := o.Locate(paths[i])
		if diff := cmp.Diff(string(want.Value), string(places.Of(n, text))); diff != "" {
			t.Errorf("%s (-Locate +Find):\n%s", paths[i], diff)
			continue
		}
		if diff := cmp.Diff(string(o.Value(paths[i])), string(places.Of(n, text))); diff != "" {
			t.Errorf("%s (-Value +Find):\n%s", paths[i], diff)
		}
		found := len(paths[i])
		if missing := places.Missing(n); missing != nil {
			found = missing.Depth() - 1
		} else if diff := cmp.Diff(want.Pointer, places.Pointer(n)); diff != "" {
			t.Errorf("pointer of %s (-Locate +Find):\n%s", paths[i], diff)
		}
		if found != want.Found {
			t.Errorf("%s leads %d elements far by Locate, and %d by Find", paths[i], want.Found, found)
		}
		if want.Value != nil && offsetIn(text, want.Value) != places[n.ID].Span.Start {
			t.Errorf("%s is found at %d, not at %d", paths[i], places[n.ID].Span.Start, offsetIn(text, want.Value))
		}
	}
}

// checkCut verifies that Cut does what cutting each path alone does, and removes the parents that are empty then.
func checkCut(t *testing.T, text []byte, paths []fieldpath.Path) {
	t.Helper()
	before := bytes.Clone(text)
	tree, nodes := treeOf(paths...)
	got, changed := tree.Cut(text, nil, nil)
	if err := rawjson.Check(got); err != nil {
		t.Fatalf("cut %s: no JSON is left: %v: %q", paths, err, got)
	}
	want := withoutPaths(t, text, paths, true, nil)
	if diff := cmp.Diff(compacted(t, want), compacted(t, got)); diff != "" {
		t.Errorf("cut %s (-one by one +at once):\n%s", paths, diff)
	}
	if changed != (len(got) < len(text)) || !changed && !bytes.Equal(got, text) {
		t.Errorf("cut %s: changed is %t: %q", paths, changed, got)
	}
	if !bytes.Equal(before, text) {
		t.Errorf("cut %s: the text itself was changed: %q", paths, text)
	}
	if !isRest(got, text) {
		t.Errorf("cut %s: bytes were added or moved: %q", paths, got)
	}
	places := tree.Find(got, nil)
	for i, n := range nodes {
		if places[n.ID].Span.Present() {
			if isOfFields(paths[i]) {
				t.Errorf("%s is still there: %q", paths[i], got)
			}
			return // another element of a list has taken the place of one that was cut
		}
	}
	if again, changed := tree.Cut(got, nil, nil); changed || !bytes.Equal(again, got) {
		t.Errorf("cut %s a second time: %q", paths, again)
	}
}

// isRest reports whether a text is what is left of another after some of its bytes were removed.
func isRest(rest, of []byte) bool {
	for _, b := range of {
		if len(rest) > 0 && rest[0] == b {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

func isOfFields(path fieldpath.Path) bool {
	for _, element := range path {
		if element.FieldName == nil {
			return false
		}
	}
	return true
}

// checkManaged verifies that Managed visits the paths that a set has, or anything nested under them.
func checkManaged(t *testing.T, fields []byte, set *fieldpath.Set, paths []fieldpath.Path) {
	t.Helper()
	tree, _ := treeOf(paths...)
	visited := make([]int, tree.Len())
	tree.Managed(fields, nil, func(n *fieldtree.Node, start int) {
		visited[n.ID]++
		below := setBelow(set, n.Path())
		if isLeaf := fieldtree.IsLeaf(fields, start); isLeaf != below.Empty() {
			t.Errorf("%s is a leaf: %t, and the set has below it: %s", n.Path(), isLeaf, below)
		}
	})
	for _, n := range tree.Nodes() {
		want := 0
		if set.Has(n.Path()) || !setBelow(set, n.Path()).Empty() {
			want = 1
		}
		if visited[n.ID] != want {
			t.Errorf("%s is visited %d times, want %d", n.Path(), visited[n.ID], want)
		}
	}
}

func setBelow(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return set
}

// checkMatching verifies that AddMatching adds the innermost fields of a set at and below the paths, and nothing else.
func checkMatching(t *testing.T, fields []byte, set *fieldpath.Set, paths []fieldpath.Path) {
	t.Helper()
	wanted, _ := treeOf(paths...)
	added := &fieldtree.Tree{}
	if err := fieldtree.AddMatching(added, fields, wanted.Within(), nil); err != nil {
		t.Errorf("adding what matches %s: %v", paths, err)
		return
	}
	for _, n := range added.Nodes() {
		if !n.Wanted {
			continue
		}
		if !wanted.Has(n) {
			t.Errorf("%s was added, which %s do not match", n.Path(), paths)
		}
		if !set.Has(n.Path()) || !setBelow(set, n.Path()).Empty() {
			t.Errorf("%s was added, which is no innermost field of the set", n.Path())
		}
	}
	set.Leaves().Iterate(func(path fieldpath.Path) {
		leaf, nodes := treeOf(path.Copy())
		if len(path) <= fieldtree.MaxDepth && wanted.Has(nodes[0]) && !added.Has(nodes[0]) {
			t.Errorf("%s was not added (%d nodes)", path, leaf.Len())
		}
	})
}

// checkEqual verifies that Equal compares what is left of two texts without the paths.
func checkEqual(t *testing.T, a, b []byte, paths []fieldpath.Path) (equal bool) {
	t.Helper()
	tree, _ := treeOf(paths...)
	want := reflect.DeepEqual(
		jsontest.Decode(t, withoutPaths(t, a, paths, false, nil)), jsontest.Decode(t, withoutPaths(t, b, paths, false, nil)))
	if got := tree.Equal(a, b, nil); got != want {
		t.Errorf("equal but for %s: want %t, got %t\n%s\n%s", paths, want, got, a, b)
	}
	if tree.Equal(a, b, nil) != tree.Equal(b, a, nil) {
		t.Errorf("equal but for %s: it matters which is the first\n%s\n%s", paths, a, b)
	}
	if !tree.Equal(a, a, nil) {
		t.Errorf("equal but for %s: a text differs from itself: %s", paths, a)
	}
	return want
}

// checkLeaves verifies that AddLeaves adds each scalar of an object exactly once.
func checkLeaves(t *testing.T, o ownership.Object, path fieldpath.Path) {
	t.Helper()
	tree, nodes := treeOf(path)
	leaves := &fieldtree.Tree{}
	text := o.Text()
	tree.AddLeaves(leaves, nodes[0], text, tree.Find(text, nil), nil)
	at := o.Locate(path)
	var want int
	if at.Value != nil {
		want = leavesIn(jsontest.Decode(t, at.Value))
	}
	got := 0
	for _, n := range leaves.Nodes() {
		if !n.Wanted {
			continue
		}
		got++
		if found := o.Locate(n.Path()); found.Value == nil || !strings.HasPrefix(found.Pointer+"/", at.Pointer+"/") {
			t.Errorf("leaves of %s: %s leads to %q", path, n.Path(), found.Pointer)
		}
	}
	if got != want {
		t.Errorf("leaves of %s: want %d, got %d", path, want, got)
	}
}

// leavesIn returns how many members, at any depth of objects, are neither null nor objects.
func leavesIn(v any) int {
	object, isObject := v.(map[string]any)
	switch {
	case v == nil:
		return 0
	case !isObject:
		return 1
	}
	count := 0
	for _, member := range object {
		count += leavesIn(member)
	}
	return count
}
