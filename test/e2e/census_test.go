package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
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
	Covered string `json:"covered"` // a key of coverages
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

// coverages are the rows of the census in docs/catalogue.md, in order.
func coverages() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"always", "kept without configuration"},
		{"pack", "kept by a pack"},
		{"rule", "kept by a rule or scaler of your own"},
		{"never", "not kept"},
		{"unneeded", "no apply resets it"},
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

// TestCensus verifies that the configurations in the census are valid, and that it names every group.
func TestCensus(t *testing.T) {
	c := readCensus(t)
	covered := map[string]bool{}
	for _, of := range coverages() {
		covered[of.name] = of.name == "pack" || of.name == "rule"
	}
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
			with.registered(forAllKinds(hookOfNamespace), with.name, webhook)
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

// text returns the census of docs/catalogue.md.
func (c census) text() string {
	coveredBy, examples := map[string]string{}, map[string][]string{}
	for _, g := range c.Groups {
		coveredBy[g.Name] = g.Covered
		examples[g.Covered] = append(examples[g.Covered], g.Fields)
	}
	all := 0
	fields, repositories, fully := map[string]int{}, map[string]int{}, map[string]int{}
	for _, groups := range c.Repositories {
		has := map[string]bool{}
		for group, n := range groups {
			all += n
			fields[coveredBy[group]] += n
			has[coveredBy[group]] = true
		}
		most := "" // that its fields need, which is the last of the coverages
		for _, of := range coverages() {
			if has[of.name] {
				repositories[of.name]++
			}
			if has[of.name] && of.name != "unneeded" {
				most = of.name
			}
		}
		fully[most]++
	}
	var b strings.Builder
	resets, in := all-fields["unneeded"], len(c.Repositories)-fully[""]
	percent := func(n, of int) string { return fmt.Sprintf("%d (%d %%)", n, (100*n+of/2)/of) }
	always, pack := fully["always"], fully["always"]+fully["pack"]
	fmt.Fprintf(&b, `
## Census

%d public repositories make Argo CD ignore %d fields ([the data](../config/catalogue/testdata/census.yaml), no random sample, with a pack or a
rule for each group). They rarely say who writes a field, so its kind and path decide here. An apply can reset %d of them, in %d
repositories. handoff keeps all such fields of %s without configuration, of %s with packs, and of %s with rules. The
other repositories also name a field that it does not keep.

`, len(c.Repositories), all, resets, in, percent(always, in), percent(pack, in), percent(pack+fully["rule"], in))
	header(&b, "with handoff", "fields", "repositories with one", "which")
	for _, of := range coverages() {
		share := percent(fields[of.name], resets)
		if of.name == "unneeded" {
			share = strconv.Itoa(fields[of.name])
		}
		cells := []string{of.text, share, percent(repositories[of.name], len(c.Repositories)), strings.Join(examples[of.name], "; ")}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	plays := 0
	var unplayed []string
	for _, g := range c.Groups {
		if plays += len(g.Plays); g.Unplayed != "" {
			unplayed = append(unplayed, g.Fields+" ("+g.Unplayed+")")
		}
	}
	fmt.Fprintf(&b, "\n`TestCatalogue` plays the packs. `TestCensusPlays` plays the rules of your own, %d writes that are lost without handoff and kept with it, "+
		"except\n%d: %s.\n", plays, len(unplayed), strings.Join(unplayed, "; "))
	return b.String()
}
