package fieldtree_test

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

const maxText = 4 << 10 // what a longer text shows, a shorter one shows as well

func addTexts(f *testing.F) {
	f.Helper()
	for seed := range uint64(24) {
		random := newRandom(seed)
		f.Add(generated(random, false), binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, random.Uint64()), random.Uint64()))
	}
	f.Add([]byte(`{"a":[{"port":80},{"port":80,"protocol":"UDP"},{"port":80}],"b":["x","x",1,1.0,1e0]}`), []byte{0, 1, 0, 1, 1, 0, 2, 1})
	f.Add([]byte(`{"a":{"b":`), []byte{1, 2, 3})
	f.Add([]byte(`{"a":[{"b":[1,[2]`), []byte{1, 2, 3})
	f.Add([]byte(`{"a":1,"a":2}`), []byte{})
}

// anyPaths returns paths of names, numbers and texts that occur in a text, valid or not.
func anyPaths(text []byte, c choose) []fieldpath.Path {
	quoted := regexp.MustCompile(`"[^"]*"`).FindAll(text, 40)
	name := func() string {
		if len(quoted) == 0 {
			return "a"
		}
		return string(rawjson.Name(quoted[c(len(quoted))]))
	}
	paths := make([]fieldpath.Path, 0, 6)
	for range 6 {
		path := fieldpath.Path{fieldpath.FieldNameElement(name())}
		for range c(5) {
			switch c(6) {
			case 0:
				path = append(path, fieldpath.IndexElement(c(3)))
			case 1:
				path = append(path, fieldpath.ValueElement(value.NewValueInterface(name())))
			case 2:
				path = append(path, fieldpath.PathElement{Key: fieldpath.KeyByFields(name(), name())})
			default:
				path = append(path, fieldpath.FieldNameElement(name()))
			}
		}
		paths = append(paths, path)
	}
	return paths
}

// pathsIn returns paths that lead somewhere in a valid text, for the most part.
func pathsIn(tb testing.TB, text, choices []byte) []fieldpath.Path {
	tb.Helper()
	return newPicker(byChoices(choices)).paths(jsontest.Decode(tb, text), 5)
}

// FuzzFind follows any paths through any text: no span leaves the text, and in a valid one each path alone leads to the
// same value.
func FuzzFind(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, text, choices []byte) {
		if len(text) > maxText {
			return
		}
		paths := anyPaths(text, byChoices(choices))
		tree, nodes := treeOf(paths...)
		places := tree.Find(text, nil)
		for _, n := range tree.Nodes() {
			if at := places[n.ID]; at.Span.Start < 0 || at.Span.End > len(text) || at.Index < 0 {
				t.Errorf("%s is found at %+v of %d bytes", n.Path(), at, len(text))
			}
			_, _, _ = places.Missing(n), places.Pointer(n), places.Of(n, text)
		}
		_ = tree.Equal(text, text, nil)
		_, _ = tree.Cut(text, nil, nil)
		tree.AddLeaves(&fieldtree.Tree{}, nodes[0], text, places, nil)
		o, err := ownership.ParseObject(text)
		if err != nil || !o.Present() {
			return
		}
		paths = pathsIn(t, o.Text(), choices)
		checkFind(t, o, paths)
		for _, path := range paths {
			checkLeaves(t, o, path)
		}
	})
}

// FuzzCut cuts paths out of valid objects.
func FuzzCut(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, text, choices []byte) {
		o, err := ownership.ParseObject(text)
		if err != nil || !o.Present() || len(text) > maxText {
			return
		}
		checkCut(t, text, pathsIn(t, text, choices))
	})
}

// stepsPerByte bounds what is read of a set of fields: each byte twice, and what stands at the end of a text that is cut off.
const stepsPerByte = 3

// FuzzManaged follows paths through any set of fields.
func FuzzManaged(f *testing.F) {
	for seed := range uint64(24) {
		random := newRandom(seed)
		text, err := generatedSet(random).ToJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, binary.BigEndian.AppendUint64(nil, random.Uint64()))
	}
	for _, text := range []string{
		`{"f:a":{".":{},"k:{\"name\":\"x\"}":{".":{},"f:b":{}},"v:1":{},"i:0":{}}}`, `{"f:a":{".":`, `{"f:a":`, `{"f:a"`, `{"`, `[]`,
		`{"k:1":{},"x":{},"":1}`, `{"f:a":{".":{".":{".":{}}},"f:b":1}}`, `{"f:a":{"f:b":{}},"f:a":{"f:c":{}}}`,
	} {
		f.Add([]byte(text), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, fields, choices []byte) {
		if len(fields) > maxText {
			return
		}
		paths := claimedPaths(fields, byChoices(choices))
		tree, _ := treeOf(paths...)
		steps := 0
		meter := func(n int) bool {
			if n < 0 {
				t.Errorf("%d steps", n)
			}
			steps += n
			return true
		}
		tree.Managed(fields, meter, func(_ *fieldtree.Node, start int) {
			if start < 0 || start > len(fields) {
				t.Errorf("a set starts at %d of %d bytes", start, len(fields))
			}
			_ = fieldtree.IsLeaf(fields, start)
		})
		if limit := stepsPerByte*len(fields) + stepsPerByte; steps > limit {
			t.Errorf("Managed takes %d steps for %d bytes", steps, len(fields))
		}
		steps = 0
		added := &fieldtree.Tree{}
		err := fieldtree.AddMatching(added, fields, tree.Within(), meter)
		if limit := stepsPerByte*len(fields) + stepsPerByte; steps > limit {
			t.Errorf("AddMatching takes %d steps for %d bytes", steps, len(fields))
		}
		if set, ok := canonical(fields); ok && err == nil {
			checkManaged(t, fields, set, paths)
			checkMatching(t, fields, set, paths)
		}
	})
}

// canonical returns the set that a text is, if it is written as the API server writes it.
func canonical(fields []byte) (*fieldpath.Set, bool) {
	set := &fieldpath.Set{}
	if rawjson.Check(fields) != nil || set.FromJSON(bytes.NewReader(fields)) != nil {
		return nil, false
	}
	text, err := set.ToJSON()
	return set, err == nil && bytes.Equal(text, fields)
}

// claimedPaths returns paths of the elements that a text has.
func claimedPaths(fields []byte, c choose) []fieldpath.Path {
	var elements []fieldpath.PathElement
	for _, quoted := range regexp.MustCompile(`"([^"\\]|\\.)*"`).FindAll(fields, 40) {
		if element, err := fieldpath.DeserializePathElement(string(rawjson.Name(quoted))); err == nil {
			elements = append(elements, element)
		}
	}
	elements = append(elements, fieldpath.FieldNameElement("other"))
	paths := make([]fieldpath.Path, 0, 6)
	for i := range 6 {
		path := append(make(fieldpath.Path, 0, 4), elements[min(i, len(elements)-1)])
		for range c(4) {
			path = append(path, elements[c(len(elements))])
		}
		paths = append(paths, path)
	}
	return paths
}
