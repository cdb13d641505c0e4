package config

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// file is a HandoffConfiguration as the file has it.
type file struct {
	APIVersion  string           `yaml:"apiVersion"`
	Kind        string           `yaml:"kind"`
	Appliers    yaml.Node        `yaml:"appliers"`
	Imperative  yaml.Node        `yaml:"imperative"`
	Autoscalers yaml.Node        `yaml:"autoscalers"`
	Scalers     yaml.Node        `yaml:"scalers"`
	Controllers []ControllerRule `yaml:"controllers"`
}

// list is a list of managers after the file has changed its default.
type list struct {
	field    string
	managers []listed
}

// listed is a manager in the list of a field. At is its path in the file, empty for a default.
type listed struct{ field, at, manager string }

// resolve applies the file to the defaults. The error names the field.
func (f file) resolve() (HandoffConfiguration, []list, error) {
	c := Default()
	c.APIVersion, c.Kind, c.Controllers = f.APIVersion, f.Kind, f.Controllers
	var lists []list
	for _, l := range []struct {
		field string
		node  yaml.Node
		into  *[]string
	}{
		{"appliers", f.Appliers, &c.Appliers}, {"imperative", f.Imperative, &c.Imperative},
		{"autoscalers", f.Autoscalers, &c.Autoscalers},
	} {
		resolved, err := resolveList(l.field, &l.node, l.into)
		if err != nil {
			return c, nil, err
		}
		lists = append(lists, list{l.field, resolved})
	}
	if !f.Scalers.IsZero() {
		if err := f.Scalers.Decode(&c.Scalers); err != nil {
			return c, nil, err
		}
	}
	return c, lists, nil
}

// resolveList changes a list from its default to what the file says: a list replaces the default, an object adds to it or removes
// from it.
func resolveList(field string, node *yaml.Node, managers *[]string) (resolved []listed, err error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.IsZero():
		return change{}.of(field, *managers)
	case node.Kind == yaml.MappingNode:
		var c change
		if err := decodeStrict(node, &c, field, "add", "remove"); err != nil {
			return nil, err
		}
		if resolved, err = c.of(field, *managers); err != nil {
			return nil, err
		}
		*managers = nil
		for _, l := range resolved {
			*managers = append(*managers, l.manager)
		}
		return resolved, nil
	default:
		*managers = nil
		if err := node.Decode(managers); err != nil {
			return nil, err
		}
		for i, manager := range *managers {
			resolved = append(resolved, listed{field, fmt.Sprintf("%s[%d]", field, i), manager})
		}
		return resolved, nil
	}
}

// change is what the file adds to a default list and removes from it.
type change struct {
	Add    []string `yaml:"add"`
	Remove []string `yaml:"remove"`
}

// of returns the default list after the change. The error is about a change that has no effect.
func (c change) of(field string, defaults []string) (resolved []listed, err error) {
	for i, manager := range c.Remove {
		at := fmt.Sprintf("%s.remove[%d]", field, i)
		switch {
		case slices.Contains(c.Remove[:i], manager):
			err = errors.New("is listed twice; delete one of them")
		case !slices.Contains(defaults, manager):
			err = fmt.Errorf("is not a default of %s; correct or delete it", field)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q %w", at, manager, err)
		}
	}
	for _, manager := range defaults {
		if !slices.Contains(c.Remove, manager) {
			resolved = append(resolved, listed{field: field, manager: manager})
		}
	}
	for i, manager := range c.Add {
		at := fmt.Sprintf("%s.add[%d]", field, i)
		switch {
		case slices.Contains(c.Add[:i], manager):
			err = errors.New("is listed twice; delete one of them")
		case slices.Contains(c.Remove, manager):
			err = fmt.Errorf("is also in %s.remove; delete one of them", field)
		case slices.Contains(defaults, manager):
			err = fmt.Errorf("is a default of %s; delete it", field)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q %w", at, manager, err)
		}
		resolved = append(resolved, listed{field, at, manager})
	}
	return resolved, nil
}
