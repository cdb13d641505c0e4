// Package config is the configuration file of the webhook: its versioned form, its defaults, and reading it strictly.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/ownership"
)

// The type of the file.
const (
	APIVersion = "config.ownership-handoff.io/v1alpha1"
	Kind       = "HandoffConfiguration"
)

// HandoffConfiguration says which field managers are what, and which fields belong to controllers. A list that the file
// does not mention keeps its default; one that it mentions replaces the default. Managers are names or patterns as
// path.Match has them ("kubectl-*").
type HandoffConfiguration struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Appliers are the managers that speak for a manifest by an update. Server-side apply needs no listing.
	Appliers []string `yaml:"appliers"`
	// Imperative are the managers that carry a person's direct command.
	Imperative []string `yaml:"imperative"`
	// Autoscalers are managers that set the size of workloads. A workload whose scale field one of them wrote last keeps
	// its size until somebody else sets it. What a HorizontalPodAutoscaler targets is known without this list.
	Autoscalers []string `yaml:"autoscalers"`
	// Controllers are the rules that give fields to controllers.
	Controllers []ControllerRule `yaml:"controllers"`
}

// ControllerRule gives fields of some objects to the controllers that write them.
type ControllerRule struct {
	// Group and Kind choose the objects; empty or "*" stands for any. The core group is written "core".
	Group string `yaml:"group"`
	Kind  string `yaml:"kind"`
	// Fields are paths as the API server prints them in conflicts, with * for any key: see ownership.ParsePattern.
	Fields []string `yaml:"fields"`
}

// Default returns what holds without a file.
func Default() HandoffConfiguration {
	return HandoffConfiguration{
		APIVersion: APIVersion,
		Kind:       Kind,
		Appliers: []string{
			"kubectl-client-side-apply", "helm", "argocd-controller", "kustomize-controller", "helm-controller",
			"kapp", "HashiCorp", "pulumi-*",
		},
		Imperative:  []string{"kubectl", "kubectl-*", "k9s"},
		Autoscalers: []string{"keda", "keda-operator", "cluster-proportional-autoscaler"},
	}
}

// Read reads a file over the defaults. The error names the file and, where one is at fault, the line and the field.
func Read(file string) (HandoffConfiguration, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the path is the flag of whoever starts the program
	if err != nil {
		return HandoffConfiguration{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(text)
	if err != nil {
		return HandoffConfiguration{}, fmt.Errorf("configuration %s: %w", file, err)
	}
	return c, nil
}

// Parse reads the text of a file over the defaults. Unknown and repeated fields are errors.
func Parse(text []byte) (HandoffConfiguration, error) {
	c := Default()
	c.APIVersion, c.Kind = "", ""
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return c, errors.New("there is a second YAML document; the file holds one")
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return c, err
	}
	if err := refuseNulls(&document, ""); err != nil {
		return c, err
	}
	return c, c.validate()
}

// Managers returns the lists of managers as ownership reads them.
func (c HandoffConfiguration) Managers() ownership.Managers {
	return ownership.Managers{Autoscalers: c.Autoscalers, Appliers: c.Appliers, Imperative: c.Imperative}
}

// Rules returns the controller rules as ownership reads them.
func (c HandoffConfiguration) Rules() ([]ownership.Rule, error) {
	rules := make([]ownership.Rule, 0, len(c.Controllers))
	for i, rule := range c.Controllers {
		if len(rule.Fields) == 0 {
			return nil, fmt.Errorf("controllers[%d].fields: it is empty; list at least one path", i)
		}
		read := ownership.Rule{Group: rule.Group, Kind: rule.Kind}
		for j, field := range rule.Fields {
			pattern, err := ownership.ParsePattern(field)
			if err != nil {
				return nil, fmt.Errorf("controllers[%d].fields[%d]: %w", i, j, err)
			}
			read.Fields = append(read.Fields, pattern)
		}
		rules = append(rules, read)
	}
	return rules, nil
}
