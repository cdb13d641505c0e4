package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/config"
)

// parse parses the fields of a configuration, which must be valid.
func parse(t *testing.T, fields string) config.HandoffConfiguration {
	t.Helper()
	c, err := config.Parse([]byte(head + fields))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func namesOf(rules []config.Rule) (names []string) {
	for _, rule := range rules {
		names = append(names, rule.Name)
	}
	return names
}

// TestEveryPackIsValid verifies the rules of all packs together, and that each of them is described.
func TestEveryPackIsValid(t *testing.T) {
	c := parse(t, "packs: ["+strings.Join(config.Packs(), ", ")+"]\n")
	if len(config.Packs()) == 0 || len(c.Rules) < len(config.Packs()) {
		t.Errorf("packs %v have %d rules", config.Packs(), len(c.Rules))
	}
	for _, name := range config.Packs() {
		p, err := config.ReadPack(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Version < 1 || p.Title == "" {
			t.Errorf("%s: no version or title", name)
		}
		for _, rule := range p.Rules {
			_, of := config.PackOf(rule.Name)
			isAny := func(k config.RuleKind) bool { return k.Group == "*" || k.Kind == "*" }
			if entry := p.Entries[of]; entry.Lost == "" || len(rule.Kinds) == 0 || slices.ContainsFunc(rule.Kinds, isAny) {
				t.Errorf("rule %s: want kinds without wildcards and an entry, got %v, %v", rule.Name, rule.Kinds, entry)
			}
		}
		if len(p.Entries) != len(p.Rules) {
			t.Errorf("%s: %d rules, %d entries", name, len(p.Rules), len(p.Entries))
		}
	}
}

func TestRulesOfPacksComeAfterThoseOfTheFile(t *testing.T) {
	pack, err := config.ReadPack("restarts")
	if err != nil {
		t.Fatal(err)
	}
	const rule = "rules: [{name: mine, fields: [%s], edit: keep}]\n"
	c := parse(t, fmt.Sprintf("packs: [restarts]\n"+rule, pack.Rules[0].Fields[0])) // with another edit than the pack
	if diff := cmp.Diff(append([]string{"mine"}, namesOf(pack.Rules)...), namesOf(c.Rules)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if c.Hash() == parse(t, fmt.Sprintf(rule, ".spec.x")).Hash() || c.Hash() == config.Default().Hash() {
		t.Error("the hash does not depend on the packs")
	}
	rules, err := c.ParsedRules()
	if err != nil || !rules.Remember() {
		t.Errorf("the parsed rules do not contain those of the pack: %v", err)
	}
}

func TestErrorsOfPacksNameThePackAndTheRemedy(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want []string
	}{
		"an unknown pack":                       {"packs:\n- restarts\n- restart\n", append(slices.Clone(config.Packs()), "line 5", "packs[1]", `"restart" is not a pack`, "write one of")},
		"a pack that is a path":                 {"packs: [../rules]\n", []string{"line 3", "packs[0]", "is not a pack"}},
		"an empty name":                         {"packs: ['']\n", []string{"packs[0]", `"" is not a pack`}},
		"null":                                  {"packs: [~]\n", []string{"packs[0]", `"" is not a pack`}},
		"a pack that is listed twice":           {"packs:\n- restarts\n- restarts\n", []string{"line 5", "packs[1]", `"restarts" is listed twice`, "delete one of them"}},
		"a string instead of a list":            {"packs: restarts\n", []string{"packs", "string"}},
		"a rule with the name of a pack's":      {"packs: [restarts]\nrules:\n- {name: restarts/restarted-at, fields: [.spec.x]}\n", []string{"line 5", "rules[0].name", "restarts/restarted-at", "write another name"}},
		"a writer of a pack that is an applier": {"appliers: [Reloader]\npacks: [restarts]\n", []string{"line 4", "packs[0]", "restarts/reloader", "writers[0]", `"Reloader" is also in appliers`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := config.Parse([]byte(head + c.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}
