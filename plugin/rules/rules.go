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
			Writers: rule.Writers, Edit: string(rule.Edits()), Kinds: []string{"*"},
			Selector: strings.TrimPrefix(metav1.FormatLabelSelector(&rule.Selector), "<none>"),
		}
		for i, kind := range rule.Kinds {
			if i == 0 {
				r.Kinds = nil
			}
			r.Kinds = append(r.Kinds, strings.TrimSuffix(cmp.Or(kind.Kind, "*")+"."+cmp.Or(kind.Group, "*"), ".core"))
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

// Add counts an object that handoff acts on. The error is that of records that cannot be read.
func (r Report) Add(s source.Subject) error {
	fields, err := s.Context.Fields(s.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Title(), err)
	}
	for _, rule := range s.Context.Managers.Rules() {
		if of := r.named(rule.Name); of != nil {
			of.Objects++
		}
	}
	for i := range fields {
		r.addField(s, &fields[i])
	}
	return nil
}

func (r Report) named(name string) *Rule {
	i := slices.IndexFunc(r, func(rule *Rule) bool { return rule.Name == name })
	if i < 0 {
		return nil // the annotation of the object
	}
	return r[i]
}

func (r Report) addField(s source.Subject, f *ownership.Field) {
	for _, inside := range s.Context.Managers.RulesInside(f.Path, f.Entries) {
		if of := r.named(inside.Name); of != nil {
			of.Owned++
		}
	}
	owner := r.named(f.Owner.Rule)
	if f.Owner.Kind != ownership.Controller || owner == nil {
		return
	}
	owner.Owned++
	for _, other := range s.Context.Managers.RulesFor(f.Path) {
		if of := r.named(other.Name); of != nil && of != owner && of.Edit != owner.Edit {
			of.note("contradicts rule %s, which decides on %s of %s", owner.Name, explain.Text(f.Path), s)
		}
	}
}

const maxNotes = 3

func (r *Rule) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(r.Notes) < maxNotes && !slices.Contains(r.Notes, text) {
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

// brief returns the first elements of a list for the table, and the number of the others.
func brief(list []string) string {
	const most = 2
	if len(list) <= most {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s,+%d", strings.Join(list[:most-1], ","), len(list)-most+1)
}

// Table writes the rules for people.
func (r Report) Table(w io.Writer) error {
	if len(r) == 0 {
		return table.Lines(w, "No rules. Assign fields to controllers in the configuration of handoff: docs/configuration.md")
	}
	var rows []table.Row
	var notes []string
	for _, rule := range r {
		rows = append(rows, table.Row{Cells: table.Cells(
			rule.Name, brief(rule.Kinds), brief(rule.Fields), table.Dash(strings.Join(rule.Writers, ",")), rule.Edit,
			strconv.Itoa(rule.Objects), strconv.Itoa(rule.Owned),
		)})
		for _, note := range rule.Notes {
			notes = append(notes, "rule "+rule.Name+": "+note)
		}
	}
	if err := (table.Style{}).Write(w, []string{"NAME", "KINDS", "FIELDS", "WRITERS", "EDIT", "OBJECTS", "OWNED"}, rows); err != nil {
		return err
	}
	if len(notes) == 0 {
		return nil
	}
	return table.Lines(w, append([]string{""}, notes...)...)
}
