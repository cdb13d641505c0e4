package ownership_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestRulesInside(t *testing.T) {
	fields, err := ownership.ParseControllerFields(".spec.http[name=*].weight")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := ownership.NewRules(ownership.Rule{Name: "weights", Fields: fields, Writers: []string{"rollouts"}}).For(schema.GroupKind{}, "", ownership.Object{})
	if err != nil {
		t.Fatal(err)
	}
	managers := ownership.Managers{}.WithRules(rules, nil)
	for sentence, c := range map[string]struct {
		path, manager string
		want          int
	}{
		"a field with a path that leads into it": {"http", "rollouts", 1}, "another field": {"other", "rollouts", 0}, "no writer manages it": {"http", "flux", 0},
	} {
		managed := entries(t, entry(c.manager, "Update", early, `{"f:spec":{"f:http":{}}}`, ""))
		if got := managers.RulesInside(fieldpath.MakePathOrDie("spec", c.path), managed); len(got) != c.want {
			t.Errorf("%s: want %d rules, got %d", sentence, c.want, len(got))
		}
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
