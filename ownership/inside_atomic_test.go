package ownership_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// routes is a write of an atomic list by server-side apply, under a rule whose writer has written it.
type routes struct {
	field          string // of the rule, under .spec
	live, incoming string // the values of .spec.http
}

func (r routes) write(t *testing.T) ownership.Write {
	t.Helper()
	fields, err := ownership.ParseControllerFields(".spec" + r.field)
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "e2e.example.com", Version: "v1", Kind: "Routes"}
	rules, err := ownership.NewRules(ownership.Rule{Name: "weights", Fields: fields, Writers: []string{"rollouts"}}).For(kind.GroupKind(), "", ownership.Object{})
	if err != nil {
		t.Fatal(err)
	}
	const owns = `{"f:spec":{"f:http":{}}}`
	controller, applier := entry("rollouts", "Update", early, owns, ""), entry("flux", "Apply", late, owns, "")
	of := func(http, managers string) ownership.Object {
		return object(t, fmt.Sprintf(`{"metadata":{"managedFields":[%s]},"spec":{"http":%s}}`, managers, http))
	}
	managers := ownership.Managers{}.WithRules(rules, nil)
	w := ownership.Write{
		Kind: kind, ObjectContext: ownership.ObjectContext{Managers: managers}, Live: of(r.live, controller), Incoming: of(r.incoming, applier),
		LiveEntries: entries(t, controller), IncomingEntries: entries(t, applier),
	}
	w.Sender = ownership.Sender{Writer: ownership.Applier, Entry: w.IncomingEntries[0]}
	w.Manifests = w.ReadManifests()
	return w
}

func TestFieldsInsideAtomicFieldsAreContested(t *testing.T) {
	const byName, byHost, only = ".http[name=*].weight", ".http[to.host=*,to.port=*].weight", ".http[*].weight"
	for sentence, c := range map[string]struct {
		routes routes
		want   []string
	}{
		"an element with a name":                   {routes{byName, `[{"name":"a","weight":1}]`, `[{"name":"a","weight":2}]`}, []string{`.spec.http[name="a"].weight: 1, 2`}},
		"elements in another order":                {routes{byName, `[{"name":"a","weight":1},{"name":"b","weight":2}]`, `[{"name":"b","weight":2},{"name":"a","weight":3}]`}, []string{`.spec.http[name="a"].weight: 1, 3`, `.spec.http[name="b"].weight: 2, 2`}},
		"an element that is new":                   {routes{byName, `[{"name":"a","weight":1}]`, `[{"name":"b","weight":2},{"name":"a","weight":1}]`}, []string{`.spec.http[name="a"].weight: 1, 1`}},
		"an element that is gone":                  {routes{byName, `[{"name":"a","weight":1}]`, `[{"name":"b","weight":2}]`}, []string{`.spec.http[name="a"].weight: 1, `}},
		"a value that live lacks":                  {routes{byName, `[{"name":"a"}]`, `[{"name":"a","weight":2}]`}, nil},
		"a value that the manifest lacks":          {routes{byName, `[{"name":"a","weight":1}]`, `[{"name":"a"}]`}, []string{`.spec.http[name="a"].weight: 1, `}},
		"a nested name":                            {routes{byHost, `[{"to":{"host":"a","port":1},"weight":1},{"to":{"host":"a","port":2},"weight":2}]`, `[{"to":{"host":"a","port":2},"weight":3}]`}, []string{`.spec.http[to.host="a",to.port=1].weight: 1, `, `.spec.http[to.host="a",to.port=2].weight: 2, 3`}},
		"an element that the rule names":           {routes{`.http[name="b"].weight`, `[{"name":"a","weight":1},{"name":"b","weight":2}]`, `[{"name":"b","weight":3},{"name":"a","weight":1}]`}, []string{`.spec.http[name="b"].weight: 2, 3`}},
		"the only element":                         {routes{only, `[{"weight":1}]`, `[{"weight":2}]`}, []string{`.spec.http[0].weight: 1, 2`}},
		"no longer the only element":               {routes{only, `[{"weight":1}]`, `[{"weight":2},{"weight":3}]`}, []string{`.spec.http[0].weight: 1, 2; list elements have no unique names in the manifest`}},
		"not the only element":                     {routes{only, `[{"weight":1},{"weight":2}]`, `[{"weight":3}]`}, []string{`.spec.http: [{"weight":1},{"weight":2}], [{"weight":3}]; list elements have no unique names`}},
		"not the only element, unchanged":          {routes{only, `[{"weight":1},{"weight":2}]`, `[{"weight":1},{"weight":2}]`}, nil},
		"two elements of one name":                 {routes{byName, `[{"name":"a","weight":1},{"name":"a","weight":2}]`, `[{"name":"a","weight":3}]`}, []string{`.spec.http: [{"name":"a","weight":1},{"name":"a","weight":2}], [{"name":"a","weight":3}]; list elements have no unique names`}},
		"two elements of one name in the manifest": {routes{byName, `[{"name":"a","weight":1}]`, `[{"name":"a","weight":3},{"name":"a","weight":1}]`}, []string{`.spec.http[name="a"].weight: 1, 3; list elements have no unique names in the manifest`}},
		"an element without a name":                {routes{byName, `[{"weight":1},{"name":"b","weight":1}]`, `[{"weight":2},{"name":"b","weight":2}]`}, []string{`.spec.http[name="b"].weight: 1, 2`, `.spec.http: [{"weight":1},{"name":"b","weight":1}], [{"weight":2},{"name":"b","weight":2}]; list elements have no unique names`}},
		"an element without a name or value":       {routes{byName, `[{"other":1},{"name":"b","weight":1}]`, `[{"other":2},{"name":"b","weight":2}]`}, []string{`.spec.http[name="b"].weight: 1, 2`}},
		"a name that is an object":                 {routes{byName, `[{"name":{},"weight":1}]`, `[{"name":{},"weight":2}]`}, []string{`.spec.http: [{"name":{},"weight":1}], [{"name":{},"weight":2}]; list elements have no unique names`}},
		"a list that the manifest empties":         {routes{byName, `[{"name":"a","weight":1}]`, `[]`}, []string{`.spec.http[name="a"].weight: 1, `}},
		"a map":                                    {routes{".http.hash", `{"app":"a","hash":"x"}`, `{"app":"b"}`}, []string{`.spec.http.hash: "x", `}},
		"any key of a map":                         {routes{".http.*", `{"app":"a","hash":"x"}`, `{"app":"b"}`}, []string{`.spec.http.app: "a", "b"`, `.spec.http.hash: "x", `}},
		"a map that the manifest sets to null":     {routes{".http.hash", `{"hash":"x"}`, `null`}, nil},
		"a map that becomes a list":                {routes{".http.hash", `{"hash":"x"}`, `[]`}, nil},
		"a scalar":                                 {routes{".http.hash", `1`, `2`}, nil},
		"two elements that are one in the manifest": {
			routes{byName + ",.spec.http[id=*].weight", `[{"name":"a","weight":1},{"id":1,"weight":2}]`, `[{"name":"a","id":1,"weight":3}]`},
			[]string{`.spec.http[id=1].weight: 2, 3; list elements have no unique names in the manifest`, `.spec.http[name="a"].weight: 1, 3; list elements have no unique names in the manifest`},
		},
		"a path of two rules": {routes{byName + "," + ".spec.http[*].weight", `[{"name":"a","weight":1}]`, `[{"name":"a","weight":2}]`}, []string{`.spec.http[name="a"].weight: 1, 2`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := c.routes.write(t)
			contested, err := w.ContestedFields()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range contested {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s: %s, %s; %s", f.Path, f.Live, f.Incoming, f.Unmatched), "; "))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("contested (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesInside(t *testing.T) {
	w := routes{field: ".http[name=*].weight", live: "[]", incoming: "[]"}.write(t)
	for path, want := range map[string][]string{
		"http": {"weights"}, "other": nil,
	} {
		var got []string
		for _, rule := range w.Managers.RulesInside(fieldpath.MakePathOrDie("spec", path), w.LiveEntries) {
			got = append(got, rule.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rules inside .spec.%s (-want +got):\n%s", path, diff)
		}
	}
	if rules := w.Managers.RulesInside(fieldpath.MakePathOrDie("spec", "http"), w.IncomingEntries); len(rules) > 0 {
		t.Errorf("want no rule for a field that no writer manages, got %s", rules[0].Name)
	}
}

// TestAMapThatAnEntryContainsWithoutItsKeysIsNotAtomic verifies that a key stays the person's who has set it under a rule for any writer,
// although the applier's entry has nothing of the map but the map itself.
func TestAMapThatAnEntryContainsWithoutItsKeysIsNotAtomic(t *testing.T) {
	fields, err := ownership.ParseControllerFields(".spec.map.key")
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Widget"}
	rules, err := ownership.NewRules(ownership.Rule{Name: "any", Fields: fields, Writers: []string{ownership.AnyWriter}}).For(kind.GroupKind(), "", ownership.Object{})
	if err != nil {
		t.Fatal(err)
	}
	applier, person := entry("flux", "Apply", early, `{"f:spec":{"f:map":{}}}`, ""), entry("kubectl-edit", "Update", late, `{"f:spec":{"f:map":{"f:key":{}}}}`, "")
	is := entry("flux", "Apply", late, `{"f:spec":{"f:map":{"f:key":{}}}}`, "")
	of := func(key, managers string) ownership.Object {
		return object(t, fmt.Sprintf(`{"metadata":{"managedFields":[%s]},"spec":{"map":{"key":%s}}}`, managers, key))
	}
	managers := ownership.Managers{Imperative: []string{"kubectl-*"}}.WithRules(rules, nil)
	w := ownership.Write{
		Kind: kind, ObjectContext: ownership.ObjectContext{Managers: managers}, Live: of("1", applier+","+person), Incoming: of("2", is), LiveEntries: entries(t, applier, person), IncomingEntries: entries(t, is),
	}
	w.Sender = ownership.Sender{Writer: ownership.Applier, Entry: w.IncomingEntries[0]}
	w.Manifests = w.ReadManifests()
	contested, err := w.ContestedFields()
	if err != nil || len(contested) != 1 || contested[0].Atomic != nil {
		t.Errorf("want .spec.map.key, in no atomic field, got %v, %v", contested, err)
	}
}
