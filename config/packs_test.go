package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
)

// parse parses the fields of a configuration, which must be valid.
func parse(t *testing.T, fields string) config.HandoffConfiguration {
	t.Helper()
	c, err := config.Parse([]byte(head + fields))
	expect.NoError(t, err)
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
		expect.NoError(t, err)
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
		expect.Equal(t, name+": entries", len(p.Rules), len(p.Entries))
	}
}

func TestRulesOfPacksComeAfterThoseOfTheFile(t *testing.T) {
	pack, err := config.ReadPack("restarts")
	expect.NoError(t, err)
	const rule = "rules: [{name: mine, fields: [%s], edit: keep}]\n"
	c := parse(t, fmt.Sprintf("packs: [restarts]\n"+rule, pack.Rules[0].Fields[0])) // with another edit than the pack
	expect.Equal(t, "rules", append([]string{"mine"}, namesOf(pack.Rules)...), namesOf(c.Rules))
	if c.Hash() == parse(t, fmt.Sprintf(rule, ".spec.x")).Hash() || c.Hash() == config.Default().Hash() {
		t.Error("the hash does not depend on the packs")
	}
	rules, err := c.ParsedRules()
	if err != nil || !rules.Remember() {
		t.Errorf("the parsed rules do not contain those of the pack: %v", err)
	}
}
