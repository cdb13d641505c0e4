package rules

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Suggestion is a pack that would keep fields that the configuration does not.
type Suggestion struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Pack is its name in the configuration.
	Pack string `json:"pack"`
	// Fields is the number of fields of applied objects that a writer of the pack owns, Objects the number of their objects.
	Objects int `json:"objects"`
	Fields  int `json:"fields"`
	// Writers are the field managers that own the fields.
	Writers []string `json:"writers"`
}

// Suggestions are in the order of the packs' names.
type Suggestions []*Suggestion

// WithAllPacks returns a configuration with the packs that it lacks after its own rules, and their names.
func WithAllPacks(c config.HandoffConfiguration) (config.HandoffConfiguration, []string, error) {
	c.Rules = slices.Clone(c.Rules)
	lacked := slices.DeleteFunc(config.Packs(), func(name string) bool { return slices.Contains(c.Packs, name) })
	for _, name := range lacked {
		p, err := config.ReadPack(name)
		if err != nil {
			return c, nil, err
		}
		c.Rules = append(c.Rules, p.Rules...)
	}
	return c, lacked, nil
}

// Add counts the fields of an object that the packs would keep.
func (s *Suggestions) Add(subject source.Subject, packs []string) error {
	fields, err := subject.Context.Fields(subject.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", subject.Title(), err)
	}
	entries, err := subject.Object.Entries()
	if err != nil {
		return fmt.Errorf("%s: %w", subject.Title(), err)
	}
	_, recorded := subject.Object.LastApplied()
	unrecorded := !recorded && slices.ContainsFunc(entries, subject.Context.Managers.IsApplier) // what its manifest sets is not known
	counted := map[*Suggestion]bool{}
	for i := range fields {
		f := &fields[i]
		if f.Declared != ownership.Sets && !unrecorded {
			continue
		}
		for _, pack := range packsOf(subject, f) {
			if !slices.Contains(packs, pack) {
				continue
			}
			suggestion := s.of(pack)
			suggestion.Fields++
			if !counted[suggestion] {
				counted[suggestion] = true
				suggestion.Objects++
			}
			if !slices.Contains(suggestion.Writers, f.Owner.By) {
				suggestion.Writers = append(suggestion.Writers, f.Owner.By)
			}
		}
	}
	return nil
}

// packsOf returns the packs with rules by which a writer owns a field, or what is inside it.
func packsOf(subject source.Subject, f *ownership.Field) (packs []string) {
	add := func(rule string) {
		if pack, _ := config.PackOf(rule); pack != "" && !slices.Contains(packs, pack) {
			packs = append(packs, pack)
		}
	}
	add(f.Owner.Rule)
	for _, rule := range subject.Context.Managers.RulesInside(f.Path, f.Entries) {
		add(rule.Name)
	}
	return packs
}

// of returns the suggestion of a pack, which it adds if there is none.
func (s *Suggestions) of(pack string) *Suggestion {
	at, found := slices.BinarySearchFunc(*s, pack, func(of *Suggestion, name string) int { return strings.Compare(of.Pack, name) })
	if !found {
		*s = slices.Insert(*s, at, &Suggestion{APIVersion: explain.APIVersion, Kind: "Suggestion", Pack: pack})
	}
	return (*s)[at]
}

// Table writes the suggestions for people.
func (s Suggestions) Table(w io.Writer) error {
	if len(s) == 0 {
		return table.Lines(w, "No pack would keep more fields.")
	}
	var rows []table.Row
	var names []string
	for _, suggestion := range s {
		names = append(names, suggestion.Pack)
		rows = append(rows, table.Row{Cells: table.Cells(
			suggestion.Pack, strconv.Itoa(suggestion.Objects), strconv.Itoa(suggestion.Fields), strings.Join(suggestion.Writers, ","),
		)})
	}
	if err := (table.Style{}).Write(w, []string{"PACK", "OBJECTS", "FIELDS", "WRITERS"}, rows); err != nil {
		return err
	}
	return table.Lines(w, "", "Add to the configuration of handoff: packs: ["+strings.Join(names, ", ")+"]")
}
