package merge_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestRewriteRejectsAnInvalidFieldSet(t *testing.T) {
	broken := strings.Replace(entry("x", "Update", early, "spec.y", count), `"f:y"`, `"k:1"`, 1)
	whole := entry("x", "Update", early, "spec.y", count)
	for sentence, c := range map[string]struct{ live, incoming []string }{
		"in live, where the entry has lost the field":  {[]string{broken}, []string{entry("x", "Update", early, "spec.y")}},
		"in live, where the entry is gone":             {[]string{broken}, []string{entry("helm", "Update", late, count)}},
		"in incoming, where the field must be removed": {[]string{entry("x", "Update", early, "spec.y")}, []string{broken}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := writeOf(t, "helm", stored{entries: c.live, spec: `{"replicas":7}`}, stored{entries: c.incoming, spec: `{"replicas":3}`})
			if _, err := rewriteKeeping(w, replicas); !errors.Is(err, ownership.ErrManagedFields) {
				t.Errorf("want %v, got %v", ownership.ErrManagedFields, err)
			}
		})
	}
	w := writeOf(t, "helm", stored{entries: []string{whole}, spec: `{"replicas":7}`}, stored{entries: []string{broken}, spec: `{"replicas":7}`})
	if _, err := rewriteKeeping(w, replicas); err != nil {
		t.Errorf("a set that does not have to be read is let be: %v", err)
	}
}

func TestRewriteRejectsAnObjectWithoutMetadata(t *testing.T) {
	live := stored{entries: []string{hpaEntry()}, spec: `{"replicas":7}`}
	for sentence, incoming := range map[string]string{
		"none at all": `{"spec":{"replicas":3}}`, "null": `{"metadata":null,"spec":{"replicas":3}}`,
		"a list": `{"metadata":[],"spec":{"replicas":3}}`, "a string": `{"metadata":"{}","spec":{"replicas":3}}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			w := writeOf(t, "helm", live, stored{spec: "{}"})
			w.Incoming, w.IncomingEntries = parsed(t, incoming)
			if operations, err := rewriteKeeping(w, replicas); !errors.Is(err, ownership.ErrManagedFields) {
				t.Errorf("want %v, got %v and %v", ownership.ErrManagedFields, err, operations)
			}
		})
	}
}

func TestRewriteRestoresMissingParents(t *testing.T) {
	size := fieldpath.MakePathOrDie("spec", "pool", "size")
	const kept, manifestWins = "kept", "the manifest wins"
	for sentence, c := range map[string]struct {
		live, incoming string
		want           string
	}{
		"its parent is there":                              {`{"pool":{"size":1}}`, `{"pool":{}}`, kept},
		"its parent is missing and comes back":             {`{"pool":{"size":1}}`, `{}`, kept},
		"its parent is missing and comes back, whole":      {`{"pool":{"min":1,"size":1}}`, `{}`, kept},
		"its parent is null":                               {`{"pool":{"size":1}}`, `{"pool":null}`, kept},
		"the manifest has made its parent a list":          {`{"pool":{"size":1}}`, `{"pool":[]}`, manifestWins},
		"the manifest has made its parent a string":        {`{"pool":{"size":1}}`, `{"pool":"{}"}`, manifestWins},
		"the kind of the manifest's value does not matter": {`{"pool":{"size":1}}`, `{"pool":{"size":{}}}`, kept},
	} {
		t.Run(sentence, func(t *testing.T) {
			incoming := stored{spec: c.incoming}
			w := writeOf(t, csa, stored{spec: c.live}, incoming)
			w.Scale = size
			rewritten, err := rewriteKeeping(w, size)
			expect.NoError(t, err)
			got := kept
			if len(rewritten.Changes) == 1 && rewritten.Changes[0].Decision.Verdict == merge.ManifestWins {
				got = manifestWins
			}
			expect.Equal(t, "which is stored", c.want, got)
			want := c.incoming
			if got == kept {
				want = c.live
			}
			object := patched(t, incoming.text(), operationsOf(t, rewritten.Operations))
			expect.Equal(t, "the object", jsontest.Decode(t, []byte(stored{spec: want}.text())), jsontest.Decode(t, []byte(object)))
		})
	}
}

// TestRewriteCountsARecordAgainstTheSizeOfAnnotations verifies that a record and a kept annotation that fit only one by one do not make
// the API server reject the object.
func TestRewriteCountsARecordAgainstTheSizeOfAnnotations(t *testing.T) {
	field := func(path fieldpath.Path, of string) ownership.ContestedField {
		return ownership.ContestedField{Path: path, Unit: of == "k", Live: []byte(strconv.Quote(strings.Repeat(of, 200)))}
	}
	record := &merge.Change{Field: field(ownership.AppliedPath(), "r"), Decision: merge.Decision{Verdict: merge.Record}}
	kept := &merge.Change{Field: field(fieldpath.MakePathOrDie("metadata", "annotations", "b"), "k"), Decision: merge.Decision{Verdict: merge.Keep}}
	for sentence, c := range map[string]struct {
		changes []*merge.Change
		left    int // for the annotations, besides a large one
		want    []string
	}{
		"both fit":                {[]*merge.Change{kept, record}, 1000, []string{"/metadata/annotations/b", "/metadata/annotations/ownership-handoff.io~1applied-values"}},
		"the kept one fits alone": {[]*merge.Change{kept}, 300, []string{"/metadata/annotations/b"}},
		"only the record fits":    {[]*merge.Change{kept, record}, 300, []string{"/metadata/annotations/ownership-handoff.io~1applied-values"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			of := func(more string) ownership.Object {
				large := strings.Repeat("x", apitypes.MaxAnnotations-c.left-len("a"))
				o, _ := parsed(t, `{"metadata":{"annotations":{"a":"`+large+`"`+more+`}}}`)
				return o
			}
			w := ownership.Write{Live: of(`,"b":"` + strings.Repeat("k", 200) + `"`), Incoming: of("")}
			out, err := merge.Rewrite(w, c.changes)
			expect.NoError(t, err)
			var got []string
			for _, o := range out.Operations {
				got = append(got, o.Path)
			}
			expect.Equal(t, "operations", c.want, got)
		})
	}
}

func TestRewriteClearsFieldsAndTheirManagers(t *testing.T) {
	const strategy = "spec.updateStrategy."
	was := stored{spec: `{"updateStrategy":{"rollingUpdate":{"partition":0},"type":"OnDelete"}}`, entries: []string{
		entry("a", "Update", early, strategy+"rollingUpdate", strategy+"rollingUpdate.partition", strategy+"type"),
		entry("b", "Update", early, strategy+"rollingUpdate.partition"),
	}}
	rollingUpdate := fieldpath.MakePathOrDie("spec", "updateStrategy", "rollingUpdate")
	cleared := []*merge.Change{{Field: ownership.ContestedField{Path: rollingUpdate}, Decision: merge.Decision{Verdict: merge.Clear}}}
	rewritten, err := merge.Rewrite(writeOf(t, "a", was, was), cleared)
	expect.NoError(t, err)
	want := []string{
		`{"op":"remove","path":"/spec/updateStrategy/rollingUpdate"}`,
		`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("a", "Update", early, strategy+"type")) + `}`,
	}
	expect.Equal(t, "patch", want, operationsOf(t, rewritten.Operations))
}
