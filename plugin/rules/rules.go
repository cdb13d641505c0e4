// Package rules shows the rules that assign fields to controllers, and what each of them is about in a cluster.
package rules

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Rule is a rule and what it is about.
type Rule struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	// Kinds are as "Deployment.apps", or "*".
	Kinds      []string `json:"kinds"`
	Namespaces []string `json:"namespaces,omitempty"`
	Selector   string   `json:"selector,omitempty"`
	Fields     []string `json:"fields"`
	Writers    []string `json:"writers,omitempty"`
	Edit       string   `json:"edit"`
	// Objects is the number of objects that the rule selects and that handoff acts on, Owned the number of their fields that belong to a
	// controller by the rule.
	Objects int `json:"objects"`
	Owned   int `json:"owned"`
	// Notes say what is wrong with the rule.
	Notes []string `json:"notes,omitempty"`
}

// Report has the rules in the order in which they apply.
type Report []*Rule

// Of returns the rules of a configuration.
func Of(c config.HandoffConfiguration) (report Report) {
	for _, rule := range c.Rules {
		r := &Rule{
			APIVersion: explain.APIVersion, Kind: "Rule", Name: rule.Name, Namespaces: rule.Namespaces, Fields: rule.Fields,
			Writers: rule.Writers, Edit: string(rule.Edits()),
			Selector: strings.TrimPrefix(metav1.FormatLabelSelector(&rule.Selector), "<none>"),
		}
		for _, kind := range rule.Kinds {
			r.Kinds = append(r.Kinds, strings.TrimSuffix(cmp.Or(kind.Kind, "*")+"."+cmp.Or(kind.Group, "*"), ".core"))
		}
		if len(r.Kinds) == 0 {
			r.Kinds = []string{"*"}
		}
		report = append(report, r)
	}
	return report
}

// Types returns the resources to read for the rules, by their singular names, with the group "" for any. anyKind reports whether there
// are rules for any kind.
func Types(c config.HandoffConfiguration) (types []schema.GroupResource, anyKind bool) {
	for _, rule := range c.Rules {
		anyKind = anyKind || len(rule.Kinds) == 0
		for _, kind := range rule.Kinds {
			if kind.Kind == "" || kind.Kind == "*" {
				anyKind = true
				continue
			}
			resource := schema.GroupResource{Resource: strings.ToLower(kind.Kind)}
			if kind.Group != "*" && kind.Group != "core" {
				resource.Group = kind.Group
			}
			if !slices.Contains(types, resource) {
				types = append(types, resource)
			}
		}
	}
	return types, anyKind
}

// WithPacks returns a configuration with the packs that it lacks after its own rules.
func WithPacks(c config.HandoffConfiguration) (config.HandoffConfiguration, error) {
	c.Rules = slices.Clone(c.Rules)
	for _, name := range config.Packs() {
		if slices.Contains(c.Packs, name) {
			continue
		}
		pack, err := config.ReadPack(name)
		if err != nil {
			return c, err
		}
		c.Rules = append(c.Rules, pack.Rules...)
	}
	return c, nil
}

// Add counts an object, and its fields or, if applied is set, those that its manifest sets or can set. The error is that of records that
// cannot be read.
func (r Report) Add(s source.Subject, applied bool) error {
	fields, err := s.Context.Fields(s.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Title(), err)
	}
	for _, rule := range s.Context.Managers.Rules() {
		r.named(rule.Name).Objects++
	}
	_, recorded := s.Object.LastApplied()
	entries, _ := s.Object.Entries() // Fields has read them
	unrecorded := !recorded && slices.ContainsFunc(entries, s.Context.Managers.IsApplier)
	for i := range fields {
		f := &fields[i]
		if !applied || f.Declared == ownership.Sets || unrecorded {
			r.addField(s, f)
		}
	}
	return nil
}

func (r Report) addField(s source.Subject, f *ownership.Field) {
	for _, inside := range s.Context.Managers.RulesInside(f.Path, f.Entries) {
		r.named(inside.Name).Owned++
	}
	owner := r.named(f.Owner.Rule)
	owner.Owned++
	for _, rule := range s.Context.Managers.RulesFor(f.Path) {
		if other := r.named(rule.Name); owner.Edit != "" && other.Edit != "" && other.Edit != owner.Edit {
			other.note(fmt.Sprintf("contradicts rule %s, which decides on %s of %s", owner.Name, explain.Text(f.Path), s))
		}
	}
}

// named returns a rule of the report, a new one for the annotation of an object and for none.
func (r Report) named(name string) *Rule {
	if i := slices.IndexFunc(r, func(rule *Rule) bool { return rule.Name == name }); i >= 0 {
		return r[i]
	}
	return &Rule{}
}

const maxNotes = 3

func (r *Rule) note(text string) {
	if len(r.Notes) < maxNotes && !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// Finish adds the notes on rules that select or match nothing. It is called once, after Add.
func (r Report) Finish() {
	for _, rule := range r {
		switch {
		case rule.Objects == 0:
			rule.note("selects no object that handoff acts on")
		case rule.Owned == 0:
			rule.note("no writer has written one of its fields")
		}
	}
}

// Suggested returns the rules of the packs that a configuration lacks and that would keep something.
func (r Report) Suggested(c config.HandoffConfiguration) Report {
	return slices.DeleteFunc(r, func(rule *Rule) bool {
		return rule.Owned == 0 || slices.Contains(c.Packs, rule.pack()) || rule.pack() == ""
	})
}

func (r *Rule) pack() string {
	pack, _ := config.PackOf(r.Name)
	return pack
}

// Table writes the rules for people. Suggested rules are those of packs to add to the configuration.
func (r Report) Table(w io.Writer, suggested bool) error {
	switch {
	case len(r) == 0 && suggested:
		return table.Lines(w, "No pack would keep more fields.")
	case len(r) == 0:
		return table.Lines(w, "No rules. Assign fields to controllers in the configuration of handoff: docs/configuration.md")
	}
	var rows [][]string
	var notes, packs []string
	for _, rule := range r {
		rows = append(rows, []string{
			rule.Name, brief(rule.Kinds), brief(rule.Fields), table.Dash(strings.Join(rule.Writers, ",")), rule.Edit,
			strconv.Itoa(rule.Objects), strconv.Itoa(rule.Owned),
		})
		for _, note := range rule.Notes {
			notes = append(notes, "rule "+rule.Name+": "+note)
		}
		packs = append(packs, rule.pack())
	}
	if suggested {
		notes = append(notes, "Add to the configuration of handoff: packs: ["+strings.Join(slices.Compact(packs), ", ")+"]")
	}
	if err := table.Write(w, []string{"NAME", "KINDS", "FIELDS", "WRITERS", "EDIT", "OBJECTS", "OWNED"}, rows); err != nil {
		return err
	}
	if len(notes) == 0 {
		return nil
	}
	return table.Lines(w, append([]string{""}, notes...)...)
}

// brief returns a list for the table: all of two elements, otherwise the first and the number of the others.
func brief(list []string) string {
	if len(list) <= 2 {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s,+%d", list[0], len(list)-1)
}
