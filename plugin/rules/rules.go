// Package rules shows the rules that assign fields to controllers, and what each of them is about in a cluster.
package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Rule is a rule of a configuration, and what it is about.
type Rule struct {
	config.Rule
	// Objects is the number of objects that the rule selects and, in a cluster, that handoff acts on, Owned the number of their fields
	// that belong to a controller by the rule.
	Objects int `json:"objects"`
	Owned   int `json:"owned"`
	// Notes say what is wrong with the rule.
	Notes []string `json:"notes,omitempty"`
}

// Report has the rules in the order in which they apply.
type Report []*Rule

// Of returns the rules of the reader's configuration, with what they are about in the objects of some types or, without any, of the
// kinds that the rules name. If suggested is set, it returns the rules of the packs that the configuration lacks and that would keep
// something. Owned is then the number of fields that a manifest sets or can set. The gaps say what could not be read.
func Of(
	ctx context.Context, reader *source.Reader, in *installation.Installation, types []string, suggested bool,
) (report Report, gaps []string, err error) {
	configured := *reader
	c := &configured.Configuration
	own := len(c.Rules)
	for _, name := range config.Packs() {
		if !suggested || slices.Contains(c.Packs, name) {
			continue
		}
		pack, err := config.ReadPack(name)
		if err != nil {
			return nil, nil, err
		}
		c.Rules = append(slices.Clip(c.Rules), pack.Rules...)
	}
	for _, rule := range c.Rules {
		rule.Edit = string(rule.Edits())
		report = append(report, &Rule{Rule: rule})
	}
	if reader, err = configured.Open(); err != nil {
		return nil, nil, err
	}
	gaps, err = report.read(ctx, reader, types, func(s source.Subject) error {
		if suggested || reader.Offline() {
			return report.add(s, suggested)
		}
		switch effect := in.Effect(ctx, installation.ObjectOf(s.Kind, s.Namespace, s.Object)); {
		case effect.On():
			return report.add(s, suggested)
		case effect.Reason == installation.NotKnown:
			return errors.New(effect.Why)
		}
		return nil
	})
	if suggested {
		return slices.DeleteFunc(report[own:], func(rule *Rule) bool { return rule.Owned == 0 }), gaps, err
	}
	for _, rule := range report {
		switch {
		case rule.Objects == 0 && len(gaps) > 0: // it may select others
		case rule.Objects == 0:
			rule.note("selects no object that handoff acts on")
		case rule.Owned == 0:
			rule.note("no writer has written one of its fields")
		}
	}
	return report, gaps, err
}

// read calls add with each object that the rules are about. Errors of add are gaps.
func (r Report) read(ctx context.Context, reader *source.Reader, types []string, add func(source.Subject) error) (gaps []string, err error) {
	if len(types) == 0 && !reader.Offline() {
		if types, err = r.types(reader); len(types) == 0 { // nothing to read
			return nil, err
		}
	}
	survey, err := reader.Survey(ctx, types...)
	if err != nil {
		return nil, err
	}
	err = survey.Each(ctx, func(s source.Subject) error {
		if err := add(s); err != nil && !slices.Contains(gaps, err.Error()) { // one for all objects of a namespace
			gaps = append(gaps, err.Error())
		}
		return ctx.Err()
	})
	return append(gaps, survey.Gaps...), err
}

// types returns the types that the rules name and that the API server serves. A rule for any kind is about those that can be scaled.
func (r Report) types(reader *source.Reader) (types []string, err error) {
	mapper, err := reader.Cluster.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	for _, rule := range r {
		for _, kind := range rule.kinds() {
			word := strings.TrimSuffix(kind, ".*")
			if strings.HasPrefix(word, "*") {
				types = append(types, source.Scalable)
			} else if _, err := mapper.ResourceFor(schema.ParseGroupResource(word).WithVersion("")); !meta.IsNoMatchError(err) {
				types = append(types, word)
			}
		}
	}
	return types, nil
}

// kinds returns the kinds that the rule is about, as "Deployment.apps", with "*" for any.
func (r *Rule) kinds() (kinds []string) {
	for _, kind := range r.Kinds {
		kinds = append(kinds, strings.TrimSuffix(cmp.Or(kind.Kind, "*")+"."+cmp.Or(kind.Group, "*"), ".core"))
	}
	if len(kinds) == 0 {
		return []string{"*.*"}
	}
	return kinds
}

// add counts an object, and its fields or, if applied is set, those that its manifest sets or can set. The error is that of records that
// cannot be read.
func (r Report) add(s source.Subject, applied bool) error {
	fields, err := s.Context.OwnedFields(s.Object)
	if err != nil {
		_, err = explain.Of(s) // the same error, which does not quote a Secret
		return err
	}
	for _, rule := range s.Context.Managers.Rules() {
		r.named(rule.Name).Objects++
	}
	_, recorded := s.Object.Annotation(ownership.LastAppliedAnnotation).String()
	entries, _ := s.Object.Entries() // OwnedFields has read them
	unrecorded := !recorded && slices.ContainsFunc(entries, s.Context.Managers.IsApplier)
	for i := range fields {
		if f := &fields[i]; !s.Nameless(f.Path) && (!applied || f.Declared == ownership.Sets || unrecorded) {
			r.addField(s, f)
		}
	}
	return nil
}

func (r Report) addField(s source.Subject, f *ownership.OwnedField) {
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

// note adds one of the first notes about a rule, which stand for the others.
func (r *Rule) note(text string) {
	if len(r.Notes) < 3 && !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
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
			rule.Name, brief(rule.kinds()), brief(rule.Fields), cmp.Or(strings.Join(rule.Writers, ","), "-"), rule.Edit,
			strconv.Itoa(rule.Objects), strconv.Itoa(rule.Owned),
		})
		for _, note := range rule.Notes {
			notes = append(notes, "rule "+rule.Name+": "+note)
		}
		pack, _ := config.PackOf(rule.Name)
		packs = append(packs, pack)
	}
	if suggested {
		notes = append(notes, "Add to the configuration of handoff: packs: ["+strings.Join(slices.Compact(packs), ", ")+"]")
	}
	if len(notes) > 0 {
		notes = append([]string{""}, notes...)
	}
	return table.Write(w, []string{"NAME", "KINDS", "FIELDS", "WRITERS", "EDIT", "OBJECTS", "OWNED"}, rows, notes...)
}

// brief returns a list for the table: all of two elements, otherwise the first and the number of the others.
func brief(list []string) string {
	if len(list) <= 2 {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s,+%d", list[0], len(list)-1)
}
