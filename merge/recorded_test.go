package merge_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAWarningSaysThatANewValueWinsIfThatIsSo verifies the remedy under a rule with EditApply: what the manifest sets is recorded, unless
// that is too long.
func TestAWarningSaysThatANewValueWinsIfThatIsSo(t *testing.T) {
	for sentence, c := range map[string]struct {
		keys           int
		remedy, second string // second is the value after the next apply, which sets another
	}{
		"a few fields":              {2, "; a new manifest value wins", "third"},
		"more than can be recorded": {600, "; remove it from the manifest", "live"},
	} {
		t.Run(sentence, func(t *testing.T) {
			object, changes := applyData(t, c.keys, "first", "")
			kept := 0
			for _, change := range changes {
				if change.Decision.Verdict != merge.Keep {
					continue
				}
				kept++
				if _, _, remedy := change.Text("kept", "x"); remedy != c.remedy {
					t.Fatalf("want remedy %q, got %q", c.remedy, remedy)
				}
			}
			if kept != c.keys {
				t.Errorf("want %d fields kept, got %d", c.keys, kept)
			}
			record, _ := object.At("metadata", "annotations", ownership.AppliedAnnotation).String()
			object, _ = applyData(t, c.keys, "third", record)
			if got, _ := object.At("data", "key-0").String(); got != c.second {
				t.Errorf("want %q, got %q", c.second, got)
			}
		})
	}
}

// applyData applies a manifest that sets all keys of a ConfigMap to a value, after a controller of a rule has set them. record is
// ownership.AppliedAnnotation of the live object.
func applyData(t *testing.T, keys int, value, record string) (ownership.Object, []*merge.Change) {
	t.Helper()
	data := func(value string) map[string]string {
		data := map[string]string{}
		for i := range keys {
			data[fmt.Sprintf("key-%d", i)] = value
		}
		return data
	}
	managed := map[string]any{}
	for key := range data("") {
		managed["f:"+key] = struct{}{}
	}
	object := func(is string, manager string, applied map[string]any) string {
		annotations := map[string]string{ownership.LastAppliedAnnotation: jsonOf(t, applied)}
		if record != "" {
			annotations[ownership.AppliedAnnotation] = record
		}
		annotated := `{"f:metadata":{"f:annotations":{"f:` + ownership.LastAppliedAnnotation + `":{}}}}`
		fields := jsonOf(t, map[string]any{"f:data": managed})
		return jsonOf(t, map[string]any{"data": data(is), "metadata": map[string]any{
			"annotations":   annotations,
			"managedFields": []json.RawMessage{[]byte(entryWith("ci", annotated)), []byte(entryWith(manager, fields))},
		}})
	}
	fields, err := ownership.ParseControllerFields(".data.*")
	if err != nil {
		t.Fatal(err)
	}
	live, _ := parsed(t, object("live", "sizer", map[string]any{})) // after a keep, last-applied has no data
	incoming, _ := parsed(t, object(value, "other", map[string]any{"data": data(value)}))
	d := merge.Decider{Cluster: exampleCluster{}, Rules: ownership.NewRules(ownership.Rule{
		Name: "r", Fields: fields, Writers: []string{"sizer"}, Edit: ownership.EditApply,
	})}
	out, err := d.Decide(ownership.Write{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, FieldManager: "ci", Live: live, Incoming: incoming})
	if err != nil || out.Skipped != nil {
		t.Fatal(err, out.Skipped)
	}
	after, _ := parsed(t, patched(t, string(incoming.Text()), operationsOf(t, out.Operations)))
	return after, out.Changes
}
