package release

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// claimsOf returns the managedFields entries, one line each: manager, operation, set.
func claimsOf(t *testing.T, o ownership.Object) (lines []string) {
	t.Helper()
	entries, err := o.Entries()
	expect.NoError(t, err)
	for _, e := range entries {
		lines = append(lines, strings.TrimSpace(e.Manager+" "+e.Operation+" "+string(e.Fields.Text())))
	}
	return lines
}

func patched(t *testing.T, o ownership.Object, patch []byte) ownership.Object {
	t.Helper()
	text, err := jsonpatch.MergePatch(o.Text(), patch)
	expect.NoError(t, err)
	result, err := ownership.ParseObject(text)
	expect.NoError(t, err)
	return result
}

// membersOf returns the members of a patch, and those of its metadata.
func membersOf(t *testing.T, patch []byte) []string {
	t.Helper()
	var written map[string]map[string]any
	expect.NoError(t, json.Unmarshal(patch, &written))
	return slices.Concat(slices.Sorted(maps.Keys(written)), slices.Sorted(maps.Keys(written["metadata"])))
}

func TestSettleReturnsTheAnnotation(t *testing.T) {
	bare := `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`
	replicas := `"f:spec":{"f:replicas":{}}`
	for name, c := range map[string]struct {
		before, after []string // managedFields
		want          []string
	}{
		"to its manager": {
			[]string{entry(client, annotation+","+replicas)},
			[]string{entry(client, `"f:spec":{"f:paused":{}}`), entry(WriterManager+"/Update", bare[1:len(bare)-1])},
			[]string{"kubectl-client-side-apply Update " + strings.TrimSuffix(bare, "}") + `,"f:spec":{"f:paused":{}}}`},
		},
		"to a manager that had nothing else": {
			[]string{entry(client, replicas), entry("kubectl-last-applied/Apply", annotation)},
			[]string{entry(WriterManager+"/Update", bare[1:len(bare)-1])},
			[]string{"kubectl-last-applied Apply " + bare},
		},
		"after an interrupted release, to a client-side applier": {
			[]string{entry(client, replicas), entry(WriterManager+"/Update", annotation)},
			[]string{entry(client, replicas), entry(WriterManager+"/Update", bare[1:len(bare)-1])},
			[]string{"kubectl-client-side-apply Update " + strings.TrimSuffix(bare, "}") + "," + replicas + "}"},
		},
		"not taken over": {[]string{entry(client, annotation)}, []string{entry(client, annotation)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := object{body: `{"spec":{"replicas":3}}`, annotated: `{"spec":{"replicas":3}}`, entries: c.before}
			p, refusals := planOf(t, o.subject(t), ".spec.replicas")
			if refusals != nil {
				t.Fatal(refusals)
			}
			o.entries = c.after
			after := o.subject(t).Object
			patch, err := p.settle(after.Text())
			expect.NoError(t, err)
			var got []string
			if patch != nil {
				got = claimsOf(t, patched(t, after, patch))
			}
			expect.Equal(t, "managedFields", c.want, got)
		})
	}
}
