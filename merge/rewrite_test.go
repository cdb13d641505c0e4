package merge_test

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
			if _, err := merge.Rewrite(w, []merge.Change{{Path: replicas}}); !errors.Is(err, ownership.ErrManagedFields) {
				t.Errorf("want %v, got %v", ownership.ErrManagedFields, err)
			}
		})
	}
	w := writeOf(t, "helm", stored{entries: []string{whole}, spec: `{"replicas":7}`}, stored{entries: []string{broken}, spec: `{"replicas":7}`})
	if _, err := merge.Rewrite(w, []merge.Change{{Path: replicas}}); err != nil {
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
			if operations, err := merge.Rewrite(w, []merge.Change{{Path: replicas}}); !errors.Is(err, ownership.ErrManagedFields) {
				t.Errorf("want %v, got %v and %v", ownership.ErrManagedFields, err, operations)
			}
		})
	}
}

func TestRewriteRestoresMissingParents(t *testing.T) {
	size := fieldpath.MakePathOrDie("spec", "pool", "size")
	inList := fieldpath.MakePathOrDie("spec", "list", fieldpath.KeyByFields("name", "a"), "x")
	const kept, gone, manifestWins = "kept", "gone", "the manifest wins"
	for sentence, c := range map[string]struct {
		live, incoming string
		path           fieldpath.Path
		want           string
	}{
		"its parent is there":                              {`{"pool":{"size":1}}`, `{"pool":{}}`, size, kept},
		"its parent is missing and comes back":             {`{"pool":{"size":1}}`, `{}`, size, kept},
		"its parent is null":                               {`{"pool":{"size":1}}`, `{"pool":null}`, size, kept},
		"an element of a list has been deleted":            {`{"list":[{"name":"a","x":1}]}`, `{"list":[]}`, inList, gone},
		"a list with its element is missing":               {`{"list":[{"name":"a","x":1}]}`, `{}`, inList, gone},
		"the manifest has made its parent a list":          {`{"pool":{"size":1}}`, `{"pool":[]}`, size, manifestWins},
		"the manifest has made its parent a string":        {`{"pool":{"size":1}}`, `{"pool":"{}"}`, size, manifestWins},
		"the manifest has made an element a string":        {`{"list":[{"name":"a","x":1}]}`, `{"list":["a"]}`, inList, gone},
		"the manifest has made the list an object":         {`{"list":[{"name":"a","x":1}]}`, `{"list":{}}`, inList, gone},
		"the kind of the manifest's value does not matter": {`{"pool":{"size":1}}`, `{"pool":{"size":{}}}`, size, kept},
	} {
		t.Run(sentence, func(t *testing.T) {
			incoming := stored{spec: c.incoming}
			rewritten, err := merge.Rewrite(writeOf(t, csa, stored{spec: c.live}, incoming), []merge.Change{{Path: c.path}})
			if err != nil {
				t.Fatal(err)
			}
			got := gone
			for _, change := range rewritten.Changes {
				if got = kept; change.Decision.Verdict == merge.ManifestWins {
					got = manifestWins
				}
			}
			if got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
			want := c.incoming
			if got == kept {
				want = c.live
			}
			object := patched(t, incoming.text(), operationsOf(t, rewritten.Operations))
			if diff := jsontest.Diff(t, stored{spec: want}.text(), object); diff != "" {
				t.Errorf("the object (-want +got):\n%s", diff)
			}
		})
	}
}
