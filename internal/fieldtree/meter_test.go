package fieldtree_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontest"
)

// work is a call of each function that is metered, on one text.
func work(text []byte, paths []fieldpath.Path, meter fieldtree.Meter) map[string]func() {
	tree, nodes := treeOf(paths...)
	return map[string]func(){
		"Find":        func() { tree.Find(text, meter) },
		"Cut":         func() { tree.Cut(text, nil, meter) },
		"Equal":       func() { tree.Equal(text, text, meter) },
		"Managed":     func() { tree.Managed(text, meter, func(*fieldtree.Node, int) {}) },
		"AddMatching": func() { _ = fieldtree.AddMatching(&fieldtree.Tree{}, text, tree.Within(), meter) },
		"AddLeaves": func() {
			tree.AddLeaves(&fieldtree.Tree{}, nodes[0], text, tree.Find(text, nil), meter)
		},
	}
}

func TestTruncatedTextDoesNotPanic(*testing.T) {
	text := `{"a": {"b": [ {"name":"x\"", "c":[1, {"d":{}}]}, "x", null], "e" : {"f":{"g":true}}}, "f:a":{".":{},"f:b":{".":{}}}}`
	paths := []fieldpath.Path{
		fieldpath.MakePathOrDie("a", "e", "f", "g"), fieldpath.MakePathOrDie("a"),
		fieldpath.MakePathOrDie("a", "b", fieldpath.KeyByFields("name", `x"`), "c", 1, "d", "e"),
		fieldpath.MakePathOrDie("a", "b", 1), fieldpath.MakePathOrDie("a", "b", 2, "x"), fieldpath.MakePathOrDie("b", "c"),
	}
	for wanted := range paths {
		for end := range len(text) {
			for _, do := range work([]byte(text[:end]), paths[wanted:], nil) {
				do() // a panic fails the test
			}
		}
	}
}

func TestTheMeterStopsTheWork(t *testing.T) {
	random := newRandom(1)
	for range 200 {
		text := generated(random, false)
		paths := newPicker(random.IntN).paths(jsontest.Decode(t, text), 6)
		if len(paths) == 0 {
			continue
		}
		limit := random.IntN(len(text))
		left := limit
		meter := func(steps int) bool {
			left -= steps
			return left >= 0
		}
		for name, do := range work(text, paths, meter) {
			left = limit
			do()
			if left < limit-4*len(text) {
				t.Errorf("%s goes on for %d steps with a limit of %d for %d bytes", name, limit-left, limit, len(text))
			}
		}
	}
}

func TestAMeterWithoutBudgetLeavesTheResultEmpty(t *testing.T) {
	text := []byte(`{"a":[{"name":"x","b":{"c":1}}]}`)
	tree, nodes := treeOf(fieldpath.MakePathOrDie("a", fieldpath.KeyByFields("name", "x"), "b", "c"))
	none := func(int) bool { return false }
	if places := tree.Find(text, none); places[nodes[0].ID].Span.Present() {
		t.Errorf("found %s", places.Of(nodes[0], text))
	}
	if cut, changed := tree.Cut(text, nil, none); changed || !bytes.Equal(cut, text) {
		t.Errorf("cut to %s", cut)
	}
	if tree.Equal(text, text, none) {
		t.Error("equal")
	}
}

// The names of the keys are the field managers' choice, and each can be looked for in each element.
func TestEachLookupOfAKeyInAnElementIsMetered(t *testing.T) {
	const keys, elements = 300, 400
	list := []byte(`{"list":[` + strings.TrimSuffix(strings.Repeat(`{},`, elements), ",") + `]}`)
	paths := make([]fieldpath.Path, 0, keys)
	for i := range keys {
		paths = append(paths, fieldpath.MakePathOrDie("list", fieldpath.KeyByFields(fmt.Sprint("key", i), 1), "x"))
	}
	for _, name := range []string{"Find", "Cut", "Equal"} {
		t.Run(name, func(t *testing.T) {
			steps := 0
			work(list, paths, func(n int) bool {
				steps += n
				return true
			})[name]()
			if steps < keys*elements {
				t.Errorf("%d keys are looked for in %d elements, in %d steps", keys, elements, steps)
			}
		})
	}
}

func TestEachByteIsMetered(t *testing.T) {
	text := []byte(`{"f:x":{"f:long":"` + strings.Repeat("x", 1000) + `"},"f:a":{"f:b":{".":{},"f:c":{}}},"f:y":[` + strings.Repeat("1,", 500) + `1]}`)
	for name, paths := range map[string][]fieldpath.Path{
		"Find": {path("f:a", "f:b")}, "Cut": {path("f:a", "f:b")}, "Equal": {path("f:a", "f:b")}, "Managed": {path("a", "b")},
		"AddMatching": {path("a", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			steps := 0
			work(text, paths, func(n int) bool {
				steps += n
				return true
			})[name]()
			if steps < len(text)*9/10 {
				t.Errorf("%d steps for %d bytes", steps, len(text))
			}
		})
	}
}

func TestNothingIsCutOrEqualOnceTheMeterStopsTheWork(t *testing.T) {
	text := []byte(`{"a":1,"b":{"c":[{"name":"x","d":1},{"name":"y"}],"e":2},"f":3}`)
	tree, _ := treeOf(path("a"), path("b", "c", named("x"), "d"), path("b", "e"), path("f"))
	for limit := range 1000 {
		left, isOver := limit, false
		meter := func(n int) bool {
			left -= n
			isOver = isOver || left < 0
			return left >= 0
		}
		if cut, changed := tree.Cut(text, nil, meter); changed == isOver || isOver && !bytes.Equal(cut, text) {
			t.Errorf("limit %d: cut to %s, changed %t, over %t", limit, cut, changed, isOver)
		}
		left, isOver = limit, false
		if tree.Equal(text, text, meter) == isOver {
			t.Errorf("limit %d: equal %t, over %t", limit, !isOver, isOver)
		}
	}
}
