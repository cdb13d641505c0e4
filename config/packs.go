package config

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"
)

//go:embed catalogue/*.yaml
var catalogue embed.FS

// Pack is a list of rules that handoff ships with, by the name of its file in config/catalogue.
type Pack struct {
	Name string `json:"-"`
	// Version is increased when a rule changes.
	Version int `json:"version"`
	// Title names the programs that the pack is for.
	Title string `json:"title"`
	// Rules are written as in a configuration. In a configuration with the pack, their names begin with that of the pack.
	Rules []Rule `json:"rules"`
	// Entries describe the rules, by their names in the pack, for docs/catalogue.md.
	Entries map[string]PackEntry `json:"entries"`
}

// PackEntry describes a rule of a pack.
type PackEntry struct {
	// Lost says how the fields are lost without handoff.
	Lost string `json:"lost"`
	// Thread is the address of a thread about it, empty if there is none.
	Thread string `json:"thread"`
}

// packSeparator separates the name of a pack from that of a rule.
const packSeparator = "/"

// Packs returns the names of the packs, in alphabetical order.
func Packs() (names []string) {
	files, _ := catalogue.ReadDir("catalogue") // embedded
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".yaml"))
	}
	return names
}

// ReadPack returns a pack of the catalogue.
func ReadPack(name string) (p Pack, err error) {
	if !slices.Contains(Packs(), name) {
		return p, fmt.Errorf("%q is not a pack; write one of %s", name, strings.Join(Packs(), ", "))
	}
	text, err := catalogue.ReadFile(path.Join("catalogue", name+".yaml"))
	if err == nil {
		text, err = sigsyaml.YAMLToJSONStrict(text)
	}
	if err == nil {
		err = decode("", text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("pack %s: %w", name, err)
	}
	p.Name = name
	for i := range p.Rules {
		p.Rules[i].Name = name + packSeparator + p.Rules[i].Name
	}
	return p, nil
}

// addPacks adds the rules of the packs.
func (c *HandoffConfiguration) addPacks() error {
	rules := slices.Clone(c.Rules)
	for i, rule := range rules {
		if pack, _ := PackOf(rule.Name); pack != "" {
			return inField(fmt.Sprintf("rules[%d].name", i), fmt.Errorf("%q contains a slash, as only rules of packs do; write another name", rule.Name))
		}
	}
	for i, name := range c.Packs {
		p, err := ReadPack(name)
		if slices.Contains(c.Packs[:i], name) {
			err = fmt.Errorf("%q is listed twice; delete one of them", name)
		}
		if err != nil {
			return inField(fmt.Sprintf("packs[%d]", i), err)
		}
		rules = append(rules, p.Rules...)
	}
	c.Rules = rules
	return nil
}

// PackOf returns the name of a rule's pack, empty for a rule of a file, and the rule's name there. rule is Rule.Name.
func PackOf(rule string) (pack, name string) {
	pack, name = path.Split(rule)
	return strings.TrimSuffix(pack, packSeparator), name
}

// inRule returns an error about a rule. For a rule of a pack, it is about the pack: the rule is not in the file.
func (c HandoffConfiguration) inRule(index int, err error) error {
	pack, _ := PackOf(c.Rules[index].Name)
	if pack == "" {
		return inField(fmt.Sprintf("rules[%d]", index), err)
	}
	return inField(fmt.Sprintf("packs[%d]", slices.Index(c.Packs, pack)), errors.New(c.Rules[index].Name+": "+err.Error()))
}
