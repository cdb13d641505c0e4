package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/test/packs"
)

// census is what public repositories make Argo CD ignore.
type census struct {
	Groups []censusGroup `json:"groups"`
	// Repositories have the number of their fields in each group.
	Repositories map[string]map[string]int `json:"repositories"`
}

type censusGroup struct {
	Name string `json:"name"`
	// Fields describes the fields of the group.
	Fields  string `json:"fields"`
	Covered string `json:"covered"` // always, pack, rule (of the user), never, or unneeded: no apply resets it
	// With are fields of a configuration that covers those of the group, or the example of one.
	With map[string]any `json:"with"`
	// Plays are entries of which Rule is a field of the rules. Unplayed is why there are none.
	Plays    []*packs.Entry `json:"plays"`
	Unplayed string         `json:"unplayed"`
}

// configured checks the configuration of a group.
func (g *censusGroup) configured(t *testing.T) {
	t.Helper()
	document := map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind}
	maps.Copy(document, g.With)
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Parse(text); err != nil {
		t.Errorf("%s: %v", g.Name, err)
	}
}

func readCensus(t *testing.T) (c census) {
	t.Helper()
	text, err := os.ReadFile("../../config/catalogue/testdata/census.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCensus verifies that the configurations in the census, from which docs/catalogue.md was computed, are valid, and that it names every
// group.
func TestCensus(t *testing.T) {
	c := readCensus(t)
	covered := map[string]bool{"always": false, "pack": true, "rule": true, "never": false, "unneeded": false}
	groups := map[string]bool{}
	for _, g := range c.Groups {
		groups[g.Name] = true
		if has, known := covered[g.Covered]; !known || has != (g.With != nil) || (g.Covered == "pack") != (g.With["packs"] != nil) {
			t.Errorf("%s: covered %q with %v", g.Name, g.Covered, g.With)
		}
		g.configured(t)
		if g.Covered == "rule" && (g.Unplayed == "") != (len(g.Plays) > 0) {
			t.Errorf("%s: %d plays, unplayed: %q", g.Name, len(g.Plays), g.Unplayed)
		}
	}
	named := map[string]bool{}
	for repository, fields := range c.Repositories {
		for group := range fields {
			if named[group] = true; !groups[group] {
				t.Errorf("%s: unknown group %s", repository, group)
			}
		}
	}
	if len(named) != len(groups) {
		t.Errorf("%d groups, of which repositories name %d", len(groups), len(named))
	}
}

// TestCensusPlays plays the rules of the census with kubectl, client-side and server-side, with and without handoff.
func TestCensusPlays(t *testing.T) {
	t.Parallel()
	localOnly(t)
	var all []*packs.Entry
	var rules []any
	for _, g := range readCensus(t).Groups {
		if of, ok := g.With["rules"].([]any); ok {
			rules = append(rules, of...)
		}
		for i, p := range g.Plays {
			p.Rule = g.Name + " " + p.Rule
			p.SetName(fmt.Sprintf("%s-%d", g.Name, i))
			all = append(all, p)
		}
	}
	configuration, err := json.Marshal(map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind, "rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	withKinds(t, all)
	for _, s := range syncers()[:2] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			with := newNamespace(t, "enforce")
			_, webhook := with.configured(string(configuration))
			with.registered(forAllKinds(testdata("hook-of-namespace")), with.name, webhook)
			with.wantRules()
			without := newNamespace(t, "").outcomes(s, all, "off")
			for i, got := range with.outcomes(s, all, "enforce") {
				if got.field != "kept" || without[i].field != "lost" {
					t.Errorf("%s: %s: want lost → kept, got %s → %s", all[i].Rule, all[i].Entry, without[i].field, got.field)
				}
			}
		})
	}
}
