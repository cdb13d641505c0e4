package merge_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestFieldsInsideAnAtomicField verifies what an apply leaves of an atomic field of which a controller owns a part, its managers, and
// that the last-applied configuration stays.
func TestFieldsInsideAnAtomicField(t *testing.T) {
	const both, controller = "ci rollouts", "rollouts"
	for sentence, c := range map[string]struct {
		field          string // of the rule
		live, incoming string
		want, managers string
		whole          bool // all of it is kept, and so no longer declared
	}{
		"the manifest changes nothing else": {".http[name=*].w", `[{"name":"a","w":1}]`, `[{"name":"a","w":2}]`, `[{"name":"a","w":1}]`, controller, false},
		"the manifest changes more":         {".http[name=*].w", `[{"name":"a","w":1,"x":1}]`, `[{"name":"a","w":2,"x":2}]`, `[{"name":"a","w":1,"x":2}]`, both, false},
		"the manifest changes the order":    {".http[name=*].w", `[{"name":"a","w":1},{"name":"b","w":2}]`, `[{"name":"b","w":3},{"name":"a","w":3}]`, `[{"name":"b","w":2},{"name":"a","w":1}]`, both, false},
		"the manifest adds an element":      {".http[name=*].w", `[{"name":"a","w":1}]`, `[{"name":"b","w":5},{"name":"a","w":2}]`, `[{"name":"b","w":5},{"name":"a","w":1}]`, both, false},
		"the manifest removes an element":   {".http[name=*].w", `[{"name":"a","w":1},{"name":"b","w":2}]`, `[{"name":"b","w":3}]`, `[{"name":"b","w":2}]`, both, false},
		"the manifest lacks the value":      {".http[name=*].w", `[{"name":"a","w":1}]`, `[{"name":"a"}]`, `[{"name":"a","w":1}]`, controller, false},
		"the manifest sets null":            {".http[name=*].w", `[{"name":"a","w":1}]`, `[{"name":"a","w":null}]`, `[{"name":"a","w":1}]`, controller, false},
		"the manifest lacks a parent of the value": {
			".http[name=*].h.set.x", `[{"name":"a","h":{"set":{"x":1}}}]`, `[{"name":"a"}]`, `[{"name":"a","h":{"set":{"x":1}}}]`, controller, false,
		},
		"the manifest lacks a parent that has more in live": {
			".http[name=*].h.x", `[{"name":"a","h":{"x":1,"y":2}}]`, `[{"name":"a"}]`, `[{"name":"a","h":{"x":1}}]`, both, false,
		},
		"the manifest makes a parent of the value a string": {
			".http[name=*].h.x", `[{"name":"a","h":{"x":1}}]`, `[{"name":"a","h":"s"}]`, `[{"name":"a","h":"s"}]`, "ci", false,
		},
		"an element by a nested name": {
			".http[to.host=*,to.port=*].w", `[{"to":{"host":"a","port":1},"w":1},{"to":{"host":"a","port":2},"w":2}]`,
			`[{"to":{"host":"a","port":2},"w":3}]`, `[{"to":{"host":"a","port":2},"w":2}]`, both, false,
		},
		"an element that the rule names":     {`.http[name="b"].w`, `[{"name":"a","w":1},{"name":"b","w":2}]`, `[{"name":"b","w":3},{"name":"a","w":1}]`, `[{"name":"b","w":2},{"name":"a","w":1}]`, both, false},
		"an element whose name is no scalar": {".http[name=*].w", `[{"name":{},"w":1}]`, `[{"name":{},"w":2}]`, `[{"name":{},"w":2}]`, "ci", false},
		"the only element":                   {".http[*].w", `[{"w":1}]`, `[{"w":2}]`, `[{"w":1}]`, controller, false},
		"no longer the only element":         {".http[*].w", `[{"w":1}]`, `[{"w":2},{"w":3}]`, `[{"w":2},{"w":3}]`, "ci", false},
		"an element by its index":            {".http[0].w", `[{"w":1},{"w":2}]`, `[{"w":3},{"w":4}]`, `[{"w":1},{"w":4}]`, both, false},
		"any key of a map":                   {".http.*", `{"app":"a","hash":"x"}`, `{"app":"b"}`, `{"app":"a","hash":"x"}`, controller, false},
		"a map that becomes null":            {".http.hash", `{"hash":"x"}`, `null`, `null`, "ci", false},
		"a map that becomes a list":          {".http.hash", `{"hash":"x"}`, `[]`, `[]`, "ci", false},
		"a scalar":                           {".http.hash", `1`, `2`, `2`, "ci", false},
		"elements cannot be matched":         {".http[*].w", `[{"w":1},{"w":2}]`, `[{"w":3},{"w":4}]`, `[{"w":3},{"w":4}]`, "ci", false},
		"two elements are one in the manifest": {
			".http[name=*].w,.spec.http[id=*].w", `[{"name":"a","w":1},{"id":1,"w":2}]`, `[{"name":"a","id":1,"w":3}]`, `[{"name":"a","id":1,"w":3}]`, "ci", false,
		},
		"a key of a map":          {".http.hash", `{"app":"a","hash":"x"}`, `{"app":"b"}`, `{"app":"b","hash":"x"}`, both, false},
		"a rule for all of it":    {".http", `[{"name":"a","w":1}]`, `[{"name":"a","w":2}]`, `[{"name":"a","w":1}]`, controller, true},
		"two paths for one value": {".http[name=*].w,.spec.http[*].w", `[{"name":"a","w":1}]`, `[{"name":"a","w":2}]`, `[{"name":"a","w":1}]`, controller, false},
		"a name and an index":     {".http[name=*].w,.spec.http[0].w", `[{"name":"a","w":1},{"name":"b","w":2}]`, `[{"name":"b","w":3},{"name":"a","w":3}]`, `[{"name":"b","w":2},{"name":"a","w":1}]`, both, false},
		"a path in another one":   {".http[name=*].w,.spec.http[x=*]", `[{"name":"a","x":1,"w":1}]`, `[{"name":"a","x":1,"w":2}]`, `[{"name":"a","x":1,"w":1}]`, controller, false},
		"a path for all and one for a part": {
			".http[name=*].w,.spec.http", `[{"name":"a","w":1}]`, `[{"name":"a","w":2,"y":1}]`, `[{"name":"a","w":1}]`, controller, true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			applied := applyAtomic(t, c.field, c.live, c.incoming)
			expect.Equal(t, "spec", jsontest.Decode(t, []byte(`{"http":`+c.want+`}`)), jsontest.Decode(t, applied.object.At("spec").Text()))
			expect.Equal(t, "managers", c.managers, managersOf(applied.entries))
			want := applied.manifest
			if c.whole {
				want = `{}`
			}
			is, _ := applied.object.Annotation(ownership.LastAppliedAnnotation).String()
			expect.Equal(t, "last-applied", want, is)
		})
	}
}

// TestFieldsThatCannotBeMatchedAreReported verifies which fields the manifest wins, and why.
func TestFieldsThatCannotBeMatchedAreReported(t *testing.T) {
	const notUnique = "list elements have no unique names"
	for sentence, c := range map[string]struct{ field, live, incoming, want string }{
		"elements without names":            {".http[*].w", `[{"w":1},{"w":2}]`, `[{"w":3}]`, ".spec.http: " + notUnique},
		"elements without names, unchanged": {".http[*].w", `[{"w":1},{"w":2}]`, `[{"w":1},{"w":2}]`, ""},
		"no longer the only element":        {".http[*].w", `[{"w":1}]`, `[{"w":2},{"w":3}]`, ".spec.http[0].w: " + notUnique + " in the manifest"},
		"two elements of one name":          {".http[name=*].w", `[{"name":"a","w":1},{"name":"a","w":2}]`, `[{"name":"a","w":3}]`, ".spec.http: " + notUnique},
		"two of one name in the manifest":   {".http[name=*].w", `[{"name":"a","w":1}]`, `[{"name":"a","w":3},{"name":"a","w":1}]`, `.spec.http[name="a"].w: ` + notUnique + " in the manifest"},
		"an element without a name":         {".http[name=*].w", `[{"w":1},{"name":"b","w":1}]`, `[{"w":2},{"name":"b","w":2}]`, ".spec.http: " + notUnique},
		"an element without name and value": {".http[name=*].w", `[{"o":1},{"name":"b","w":1}]`, `[{"o":2},{"name":"b","w":2}]`, ""},
		"an element that is gone":           {".http[name=*].w", `[{"name":"a","w":1}]`, `[{"name":"b","w":2}]`, ""},
	} {
		var got []string
		for _, change := range applyAtomic(t, c.field, c.live, c.incoming).Changes {
			if change.Decision.Verdict == merge.ManifestWins {
				got = append(got, change.Field.Path.String()+": "+change.Reason)
			}
		}
		expect.Equal(t, sentence, c.want, strings.Join(got, "; "))
	}
}

// ruledApply is the result of an apply of an object that a controller of a rule has written.
type ruledApply struct {
	merge.Outcome

	object   ownership.Object
	entries  []ownership.Entry
	manifest string
}

// applyRuled applies a spec to an object with another spec, of which the controller of a rule for a field has written a set of fields.
func applyRuled(t *testing.T, field, written, was, is string) ruledApply {
	t.Helper()
	fields, err := ownership.ParseControllerFields(".spec" + field)
	expect.NoError(t, err)
	annotated := `{"f:metadata":{"f:annotations":{"f:` + ownership.LastAppliedAnnotation + `":{}}}`
	manifest := `{"spec":` + is + `}`
	base := stored{lastApplied: `{"spec":{"old":1}}`, spec: was, entries: []string{entryWith("ci", annotated+"}"), entryWith("rollouts", written)}}
	incoming := stored{lastApplied: manifest, spec: is, entries: []string{entryWith("ci", annotated+","+written[1:])}}
	live, _ := parsed(t, base.text())
	sent, _ := parsed(t, incoming.text())
	d := merge.Decider{Cluster: exampleCluster{}, Rules: ownership.NewRules(
		ownership.Rule{Name: "r", Fields: fields, Writers: []string{"rollouts"}},
		ownership.Rule{Name: "s", Fields: fieldpattern.MustParse(".spec.http"), Writers: []string{"other"}}, // who has written nothing
	)}
	meter := func(steps int) bool {
		if steps < 0 {
			t.Errorf("a step gives %d steps back", -steps)
		}
		return true
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Routes"}
	out, err := d.Decide(ownership.Write{Kind: kind, FieldManager: "ci", Live: live, Incoming: sent, Meter: meter})
	expect.NoError(t, err)
	object, entries := parsed(t, patched(t, incoming.text(), operationsOf(t, out.Operations)))
	return ruledApply{out, object, entries, manifest}
}

// applyAtomic applies .spec.http.
func applyAtomic(t *testing.T, field, was, is string) ruledApply {
	t.Helper()
	applied := applyRuled(t, field, `{"f:spec":{"f:http":{}}}`, `{"http":`+was+`}`, `{"http":`+is+`}`)
	if applied.Skipped != nil {
		t.Fatal(applied.Skipped)
	}
	return applied
}

// TestAnElementThatIsThereTwiceIsTheManifests verifies that a field is not kept in one of several elements with the same key, of which the
// last counts for variables. A client that replaces the object can write them.
func TestAnElementThatIsThereTwiceIsTheManifests(t *testing.T) {
	for sentence, c := range map[string]struct{ sent, want, reason string }{
		"one element":                 {`[{"name":"Y"},{"name":"X","value":"a"}]`, `[{"name":"Y"},{"name":"X","value":"live"}]`, ""},
		"two elements":                {`[{"name":"X","value":"a"},{"name":"X","value":"b"}]`, `[{"name":"X","value":"a"},{"name":"X","value":"b"}]`, "list elements have no unique names in the manifest"},
		"two elements, one unchanged": {`[{"name":"X","value":"live"},{"name":"X","value":"b"}]`, `[{"name":"X","value":"live"},{"name":"X","value":"b"}]`, ""},
	} {
		const written = `{"f:spec":{"f:env":{"k:{\"name\":\"X\"}":{"f:value":{}}}}}`
		applied := applyRuled(t, `.env[name="X"].value`, written, `{"env":[{"name":"X","value":"live"}]}`, `{"env":`+c.sent+`}`)
		expect.Equal(t, sentence+": spec", jsontest.Decode(t, []byte(`{"env":`+c.want+`}`)), jsontest.Decode(t, applied.object.At("spec").Text()))
		reason := ""
		for _, change := range applied.Changes {
			reason = cmp.Or(reason, change.Reason)
		}
		if reason != c.reason || applied.Skipped != nil {
			t.Errorf("%s: want %q, got %q, %v", sentence, c.reason, reason, applied.Skipped)
		}
	}
}

// TestAnEntryCanHaveItsFieldsInAnyOrder has an entry that no API server has sorted.
func TestAnEntryCanHaveItsFieldsInAnyOrder(t *testing.T) {
	applied := applyRuled(t, ".*", `{"f:spec":{"f:b":{},"f:a":{}}}`, `{"a":1,"b":1}`, `{"a":2,"b":2}`)
	if spec := string(applied.object.At("spec").Text()); spec != `{"a":1,"b":1}` {
		t.Errorf("want the controller's values, got %s, %v", spec, applied.Skipped)
	}
}

// TestAPatchThatDoesNotRestoreEveryFieldIsNotUsed has managedFields that no API server writes: the patch would have two operations for one
// field, or leave the applier an entry that is not live's.
func TestAPatchThatDoesNotRestoreEveryFieldIsNotUsed(t *testing.T) {
	for sentence, written := range map[string]string{
		"an element by two keys":       `{"k:{\"name\":\"a\"}":{"f:x":{}},"k:{\"id\":1}":{"f:x":{}}}`,
		"a key with a space before it": `{"k:{ \"name\":\"a\"}":{"f:x":{}},"k:{\"name\":\"b\"}":{"f:x":{}}}`,
	} {
		live, sent := `{"list":[{"name":"a","id":1,"x":1},{"name":"b","x":1}]}`, `{"list":[{"name":"a","id":1,"x":2},{"name":"b","x":2}]}`
		applied := applyRuled(t, ".list[*].x", `{"f:spec":{"f:list":`+written+`}}`, live, sent)
		if !errors.Is(applied.Skipped, merge.ErrNotRestored) || len(applied.Operations) > 0 {
			t.Errorf("%s: want %v and no patch, got %v, %s", sentence, merge.ErrNotRestored, applied.Skipped, operationsOf(t, applied.Operations))
		}
	}
}

// managersOf returns the managers of .spec.http.
func managersOf(entries []ownership.Entry) string {
	var managers []string
	for _, e := range entries {
		if e.Fields.At("f:spec", "f:http") != nil {
			managers = append(managers, e.Manager)
		}
	}
	return strings.Join(managers, " ")
}

func entryWith(manager, fields string) string {
	return fmt.Sprintf(`{"manager":%q,"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":%s}`, manager, fields)
}
