package merge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestUndisputedWritesHaveNothingToDecide compares the decisions on generated writes with those that are made without comparing texts
// first. A rule that no field matches turns the comparison off.
func TestUndisputedWritesHaveNothingToDecide(t *testing.T) {
	managers := ownership.Managers{Appliers: []string{"kubectl"}, Imperative: []string{"set"}}
	nowhere, err := ownership.ParsePattern(".nowhere")
	if err != nil {
		t.Fatal(err)
	}
	undisputed, decided := 0, 0
	for seed := range uint64(3000) {
		w := generatedWrite(t, rand.New(rand.NewPCG(seed, 1)), managers) //nolint:gosec // no secret is made of it
		context := ownership.ObjectContext{Managers: managers, Scale: fieldpath.MakePathOrDie("spec", "replicas")}
		all := context
		all.Controlled = []ownership.Pattern{nowhere}
		want := decisionsOn(t, w, all)
		got := []string(nil)
		if context.Undisputed(w) {
			undisputed++
		} else {
			got = decisionsOn(t, w, context)
		}
		if len(want) > 0 {
			decided++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: decisions (-want +got):\n%s\nlive %s\nincoming %s", seed, diff, w.Live.Text(), w.Incoming.Text())
		}
	}
	t.Logf("%d undisputed, %d with a decision", undisputed, decided)
	if undisputed < 100 || decided < 100 {
		t.Errorf("%d writes are undisputed and %d have a decision: the test compares nothing", undisputed, decided)
	}
}

// decisionsOn returns the decisions on a write's fields that change anything.
func decisionsOn(t *testing.T, w ownership.Write, context ownership.ObjectContext) (decisions []string) {
	t.Helper()
	contested, err := context.ContestedFields(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range contested {
		d := merge.Lookup(merge.Field{
			Owner: c.Owner.Kind, Writer: w.Sender.Writer, Manifest: c.Declared.Manifest, Base: c.Declared.Base, Scale: c.Scale,
			Changed: c.Changed(), Removed: c.Removed,
		})
		if d.Verdict == merge.Through || d.Verdict == merge.Warn && !c.Changed() {
			continue
		}
		decisions = append(decisions, fmt.Sprintf("%s: %s, %s by %s", c.Path, d.Name, c.Owner.Kind, c.Owner.By))
	}
	return decisions
}

func generatedWrite(t *testing.T, random *rand.Rand, managers ownership.Managers) ownership.Write {
	t.Helper()
	base := generatedManifest(random)
	manifest := base
	if random.IntN(4) > 0 {
		manifest = generatedManifest(random)
	}
	live, incoming := generatedManifest(random), manifest
	if random.IntN(3) == 0 {
		incoming = generatedManifest(random)
	}
	entries := generatedEntries(random)
	w := ownership.Write{
		Live:     generatedObject(t, live, base, entries+`,`+appliedEntry("1")),
		Incoming: generatedObject(t, incoming, manifest, appliedEntry("2")),
		Kind:     schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Managers: managers,
	}
	var err error
	if w.LiveEntries, err = w.Live.Entries(); err != nil {
		t.Fatal(err)
	}
	if w.IncomingEntries, err = w.Incoming.Entries(); err != nil {
		t.Fatal(err)
	}
	w.Sender = w.SentBy("kubectl")
	if w.Manifests, err = managers.ManifestsOf(w.Sender, w.Live, w.Incoming, w.LiveEntries); err != nil {
		t.Fatal(err)
	}
	return w
}

func appliedEntry(second string) string {
	return `{"manager":"kubectl","operation":"Update","apiVersion":"apps/v1","time":"2026-01-02T03:04:0` + second + `Z","fieldsV1":` +
		`{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}}`
}

func generatedObject(t *testing.T, spec, annotation, entries string) ownership.Object {
	t.Helper()
	quoted, err := json.Marshal(annotation)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ownership.ParseObject([]byte(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` + string(quoted) +
		`},"managedFields":[` + entries + `]},` + strings.TrimPrefix(spec, "{")))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// generatedManifest has some of a few fields, each with one of a few values.
func generatedManifest(random *rand.Rand) string {
	one := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	var members []string
	member := func(name string, values ...string) {
		if random.IntN(3) > 0 {
			members = append(members, `"`+name+`":`+one(values...))
		}
	}
	member("list", "[]", "[1]", `["a"]`, "null")
	member("map", `{"a":1}`, `{"b":1}`, `{"a":1,"b":2}`, "{}", "null", "1", `[{"a":1}]`)
	member("named", `[{"name":"a","x":1},{"name":"b","env":[{"name":"E","value":"1"}]}]`, `[{"name":"a","x":2}]`, `[{"name":"b","x":1}]`,
		`[{"name":"b","env":[{"name":"F"}]},{"name":"a"}]`, `[{"name":"a","x":1,"env":[{"name":"E","value":"2"}]}]`, `[{"name":"\u0061","x":1}]`,
		"[]", "{}", "null", `[{"name":"b","env":[{"name":"E"}]},{"name":"a","x":{"y":1}}]`)
	member("replicas", "1", "3", "null")
	return `{"spec":{` + strings.Join(members, ",") + `}}`
}

func generatedEntries(random *rand.Rand) string {
	sets := []string{
		`{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:list":{}}}`, `{"f:spec":{"f:map":{"f:a":{}}}}`, `{"f:spec":{"f:map":{".":{},"f:b":{}}}}`,
		`{"f:spec":{"f:named":{"k:{\"name\":\"a\"}":{"f:x":{}}}}}`, `{"f:spec":{"f:named":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:x":{}}}}}`,
		`{"f:spec":{"f:named":{"k:{\"name\":\"b\"}":{"f:env":{"k:{\"name\":\"E\"}":{".":{},"f:name":{},"f:value":{}}},"f:x":{}}}}}`,
		`{"f:spec":{"f:list":{"v:\"a\"":{}},"f:named":{"k:{\"name\":\"a\"}":{"f:env":{}}}}}`,
	}
	manager := []string{"set", "controller"}[random.IntN(2)]
	return `{"manager":"` + manager + `","operation":"Update","apiVersion":"apps/v1","time":"2026-01-02T03:04:01Z","fieldsV1":` +
		sets[random.IntN(len(sets))] + `}`
}
