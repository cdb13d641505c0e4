package threeway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// FuzzThreeWay derives base, manifest and live from a sample by a script of decisions, and compares the merge with that of
// strategicpatch or jsonmergepatch.
func FuzzThreeWay(f *testing.F) {
	samples := sampleObjects(f)
	kind := byte(0)
	for range samples {
		f.Add(kind, scriptOf(uint64(kind)))
		kind++
	}
	f.Fuzz(func(t *testing.T, kind byte, script []byte) {
		o := samples[int(kind)%len(samples)]
		c := choices{script: script}
		base, manifest, live := c.inputs(o)
		differential(t, o, jsontest.Encode(t, base), jsontest.Encode(t, manifest), jsontest.Encode(t, live))
	})
}

// FuzzJSON merges arbitrary texts. The merge may return an error, but must not panic or write invalid JSON.
func FuzzJSON(f *testing.F) {
	deployment := sampleObjects(f)[4]
	f.Add([]byte(`{"a":1}`), []byte(`{"a":null}`), []byte(`{"a":{"b":[1,2]}}`))
	f.Add([]byte(`{"metadata":{"finalizers":["a"]}}`), []byte(`{"metadata":{"finalizers":[]}}`), []byte(`{"metadata":{"finalizers":[null]}}`))
	f.Add([]byte(``), []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}`), []byte(`{"spec":{"template":{"spec":{"containers":[{"name":80}]}}}}`))
	f.Fuzz(func(t *testing.T, base, manifest, live []byte) {
		for _, place := range []schema.Schema{deployment.place, schema.JSONMergePatch()} {
			var changes []threeway.Change
			got, err := threeway.Merge(base, manifest, live, place, threeway.Options{Report: func(c threeway.Change) { changes = append(changes, c) }})
			if err != nil {
				continue
			}
			if _, err := jsontree.Parse(got); err != nil {
				t.Fatalf("what was merged is no JSON: %v\n%s", err, got)
			}
		}
	})
}
