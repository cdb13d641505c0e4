package e2e_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/test/golden"
	"github.com/ownership-handoff/handoff/test/packs"
)

// censusGroups are the fields that public repositories make Argo CD ignore.
func censusGroups(t *testing.T) []censusGroup {
	t.Helper()
	var all struct {
		Groups []censusGroup `json:"groups"`
	}
	expect.NoError(t, yaml.Unmarshal([]byte(golden.Read(t, "../../config/catalogue/testdata/census.yaml")), &all))
	return all.Groups
}

type censusGroup struct {
	Name string `json:"name"`
	// With are fields of a configuration that covers those of the group, or the example of one.
	With map[string]any `json:"with"`
	// Plays are entries of which Rule is a field of the rules.
	Plays []*packs.Entry `json:"plays"`
}

// TestCensusPlays plays the rules of the census with kubectl, client-side and server-side, with and without handoff.
func TestCensusPlays(t *testing.T) {
	t.Parallel()
	localOnly(t)
	var all []*packs.Entry
	var rules []any
	for _, g := range censusGroups(t) {
		if of, ok := g.With["rules"].([]any); ok {
			rules = append(rules, of...)
		}
		for i, p := range g.Plays {
			p.Rule = g.Name + " " + p.Rule
			p.SetName(fmt.Sprintf("%s-%d", g.Name, i))
			all = append(all, p)
		}
	}
	configuration := jsontest.Encode(t, map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind, "rules": rules})
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
