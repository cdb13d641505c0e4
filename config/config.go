// Package config reads and validates the configuration file of the webhook.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

// The type of the file.
const (
	APIVersion = "config.ownership-handoff.io/v1alpha1"
	Kind       = "HandoffConfiguration"
)

// HandoffConfiguration lists field managers by role, and the fields that belong to controllers. Managers are names or patterns
// for path.Match ("kubectl-*"). The lists are complete: Parse has applied what the file adds to the defaults or removes.
type HandoffConfiguration struct {
	APIVersion, Kind string
	// Appliers are the managers that apply manifests with updates, and cannot be recognized by what they write
	// (ownership.Managers.IsApplier).
	Appliers []string
	// Imperative are the managers that execute a person's direct command.
	Imperative []string
	// Autoscalers are the managers that scale workloads. If one of them wrote a workload's scale field last, the workload keeps
	// its size until another manager sets it. The managers of known kinds of Scalers, as KEDA's, only count while the objects of
	// that kind cannot be read.
	Autoscalers []string
	// Scalers are the kinds whose objects own the scale field of what they reference.
	Scalers Scalers
	// Packs are the names of packs of the catalogue.
	Packs []string
	// Rules assign fields to controllers: those of the file, and after them those of the packs.
	Rules []Rule
}

// Default returns the configuration that applies without a file.
func Default() HandoffConfiguration {
	return HandoffConfiguration{
		APIVersion: APIVersion,
		Kind:       Kind,
		Appliers: []string{
			managedfields.ClientSideApply, "helm", "argocd-controller", "argocd-application-controller", "kustomize-controller",
			"helm-controller", "fleetagent", "kapp", "HashiCorp", "pulumi-*",
		},
		Imperative:  []string{"kubectl", "kubectl-*", "k9s"},
		Autoscalers: []string{"keda", "keda-operator", "cluster-proportional-autoscaler"},
		Scalers:     defaultScalers(),
	}
}

// Read reads a file, or returns the default if there is none; lists that are missing from it keep their defaults. The error names the
// file, the line and the remedy.
func Read(file string) (HandoffConfiguration, error) {
	if file == "" {
		return Default(), nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the path comes from a flag
	if err != nil {
		return HandoffConfiguration{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(text)
	if err != nil {
		return HandoffConfiguration{}, fmt.Errorf("configuration %s: %w", file, err)
	}
	return c, nil
}

// Parse parses the text of a file; lists that are missing from it keep their defaults. Unknown and repeated fields are errors.
func Parse(text []byte) (c HandoffConfiguration, err error) {
	document, nodes, err := parseYAML(text)
	switch {
	case err != nil:
		return c, notYAML(text, err)
	case hasSecond(text):
		return c, fmt.Errorf("line %d: second YAML document; write a single document", lineOf(text, hasSecond))
	}
	var read file
	if err := decode("", document, &read); err != nil {
		return c, withLine(nodes, err)
	}
	c, managers, err := read.resolve()
	if err == nil {
		err = c.validate(managers)
	}
	return c, withLine(nodes, err)
}

// Hash identifies what the configuration says. The webhook states it in its answer to kubectl handoff, for users who cannot read
// its configuration.
func (c HandoffConfiguration) Hash() string {
	text := fmt.Appendf(nil, "%q", c) // with %q, an empty list is the same as none
	for _, s := range c.Scalers {
		text = fmt.Appendf(text, "%q", s.Path) // which String leaves out
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// Managers returns the lists of managers as ownership.Managers.
func (c HandoffConfiguration) Managers() ownership.Managers {
	return ownership.Managers{Autoscalers: c.Autoscalers, Appliers: c.Appliers, Imperative: c.Imperative}
}
