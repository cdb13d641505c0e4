package merge_test

import (
	"cmp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAnElementThatIsThereTwiceIsTheManifests verifies that a field is not kept in one of several elements with the same key, of which the
// last counts for variables. A client that replaces the object can write them.
func TestAnElementThatIsThereTwiceIsTheManifests(t *testing.T) {
	for sentence, c := range map[string]struct{ sent, want, reason string }{
		"one element":                 {`[{"name":"Y"},{"name":"X","value":"a"}]`, `[{"name":"Y"},{"name":"X","value":"live"}]`, ""},
		"two elements":                {`[{"name":"X","value":"a"},{"name":"X","value":"b"}]`, `[{"name":"X","value":"a"},{"name":"X","value":"b"}]`, "list elements have no unique names in the manifest"},
		"two elements, one unchanged": {`[{"name":"X","value":"live"},{"name":"X","value":"b"}]`, `[{"name":"X","value":"live"},{"name":"X","value":"b"}]`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			fields, err := ownership.ParseControllerFields(`.spec.env[name="X"].value`)
			if err != nil {
				t.Fatal(err)
			}
			annotated := `{"f:metadata":{"f:annotations":{"f:` + ownership.LastAppliedAnnotation + `":{}}}}`
			writes := `{"f:spec":{"f:env":{"k:{\"name\":\"X\"}":{"f:value":{}}}}}`
			was := stored{lastApplied: `{"spec":{}}`, spec: `{"env":[{"name":"X","value":"live"}]}`, entries: []string{entryWith("ci", annotated), entryWith("sizer", writes)}}
			is := stored{lastApplied: `{"spec":{"env":` + c.sent + `}}`, spec: `{"env":` + c.sent + `}`, entries: []string{entryWith("ci", annotated)}}
			live, _ := parsed(t, was.text())
			incoming, _ := parsed(t, is.text())
			d := merge.Decider{Cluster: exampleCluster{}, Rules: ownership.NewRules(ownership.Rule{Name: "r", Fields: fields, Writers: []string{"sizer"}})}
			out, err := d.Decide(ownership.Write{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Variables"}, FieldManager: "ci", Live: live, Incoming: incoming})
			if err != nil || out.Skipped != nil {
				t.Fatal(err, out.Skipped)
			}
			after, _ := parsed(t, patched(t, is.text(), operationsOf(t, out.Operations)))
			if diff := jsontest.Diff(t, `{"env":`+c.want+`}`, string(after.At("spec").Text())); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			reason := ""
			for _, change := range out.Changes {
				reason = cmp.Or(reason, change.Reason)
			}
			if reason != c.reason {
				t.Errorf("want %q, got %q", c.reason, reason)
			}
		})
	}
}
