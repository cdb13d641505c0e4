package ownership_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestRulesInside(t *testing.T) {
	managers := ruled(ownership.Managers{}, ownership.Rule{Fields: fieldpattern.MustParse(".spec.http[name=*].weight", ".spec.whole"), Writers: []string{"rollouts"}})
	for sentence, c := range map[string]struct {
		path, manager string
		want          int
	}{
		"a field with a path that leads into it": {"http", "rollouts", 1}, "another field": {"other", "rollouts", 0},
		"a field that the rule names": {"whole", "rollouts", 0}, "no writer manages it": {"http", "flux", 0},
	} {
		live := object(t, liveWith("", "", entry(c.manager, "Update", early, `{"f:spec":{"f:http":{}}}`, "")))
		managed := read(t, managers, "", live, ownership.Object{}).LiveEntries
		expect.Equal(t, sentence+": rules", c.want, len(managers.RulesInside(fieldpath.MakePathOrDie("spec", c.path), managed)))
	}
}

// TestAMapThatAnEntryContainsWithoutItsKeysIsNotAtomic verifies that a key stays the person's who has set it under a rule for any writer,
// although the applier's entry has nothing of the map but the map itself.
func TestAMapThatAnEntryContainsWithoutItsKeysIsNotAtomic(t *testing.T) {
	rule := ownership.Rule{Fields: fieldpattern.MustParse(".spec.map.key"), Writers: []string{ownership.AnyWriter}}
	of := func(key string, managers ...string) ownership.Object {
		return object(t, liveWith(`,"spec":{"map":{"key":`+key+`}}`, "", managers...))
	}
	was := of("1", entry("flux", "Apply", early, `{"f:spec":{"f:map":{}}}`, ""), entry("kubectl-edit", "Update", late, `{"f:spec":{"f:map":{"f:key":{}}}}`, ""))
	is := of("2", entry("flux", "Apply", late, `{"f:spec":{"f:map":{"f:key":{}}}}`, ""))
	w := read(t, ruled(ownership.Managers{Appliers: []string{"flux"}, Imperative: []string{"kubectl-*"}}, rule), "flux", was, is)
	contested := slices.Collect(search(t, w).Contested())
	if len(contested) != 1 || contested[0].Atomic != 0 {
		t.Errorf("want .spec.map.key, in no atomic field, got %v", contested)
	}
}

// TestAnApplySetsWhatItsAtomicListHas has server-side applies of a list, of which a controller of a rule has written a value.
func TestAnApplySetsWhatItsAtomicListHas(t *testing.T) {
	const owns = `{"f:spec":{"f:http":{}}}`
	of := func(http string, entries ...string) ownership.Object {
		return object(t, liveWith(`,"spec":{"http":`+http+`}`, "", entries...))
	}
	rule := ownership.Rule{Fields: fieldpattern.MustParse(".spec.http[name=*].w"), Edit: ownership.EditApply}
	was := of(`[{"name":"a","w":1}]`, entry("helm", "Apply", early, owns, ""), entry("rollouts", "Update", early, owns, ""))
	for http, want := range map[string]struct {
		declared ownership.Declaration
		recorded int
	}{
		`[{"name":"a"}]`:                          {ownership.Lacks, 0},
		`[{"name":"a","w":2}]`:                    {ownership.Sets, 1},
		`[{"name":"a","w":2},{"name":"b","w":2}]`: {ownership.Sets, 2},
	} {
		s := search(t, read(t, ruled(managers, rule), "helm", was, of(http, entry("helm", "Apply", late, owns, ""))))
		text, _ := s.AppliedValues()
		contested := slices.Collect(s.Contested())
		if len(contested) != 1 || contested[0].Declared.Manifest != want.declared || strings.Count(string(text), ".w") != want.recorded {
			t.Errorf("%s: want %v, got %+v, %s", http, want, contested, text)
		}
	}
}
