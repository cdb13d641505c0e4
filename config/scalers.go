package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Scaler is a kind whose objects own the scale field of the object that they reference.
type Scaler struct {
	// Group and Kind are those of the scaler, without a version.
	Group string `yaml:"group"`
	Kind  string `yaml:"kind"`
	// Path leads to its reference, an object with apiVersion, kind and name: ".spec.scaleTargetRef".
	Path string `yaml:"path"`
}

// Scalers are the kinds of scalers, besides HorizontalPodAutoscaler. In a file, they are either a list, which replaces the
// default, or an object with the lists add and remove, which change it.
type Scalers []Scaler

// defaultScalers returns the kinds that package scale knows.
func defaultScalers() (scalers Scalers) {
	for _, k := range scale.Kinds() {
		scalers = append(scalers, Scaler{k.GroupKind.Group, k.GroupKind.Kind, k.PathText()})
	}
	return scalers
}

// UnmarshalYAML implements yaml.Unmarshaler. An object changes the present value, which is the default.
func (s *Scalers) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.SequenceNode {
		list, err := decodeScalers(node, "scalers")
		*s = list
		return err
	}
	var changes struct {
		Add    yaml.Node `yaml:"add"`
		Remove yaml.Node `yaml:"remove"`
	}
	if err := decodeStrict(node, &changes, "scalers", "add", "remove"); err != nil {
		return err
	}
	removed, err := decodeScalers(&changes.Remove, "scalers.remove")
	if err != nil {
		return err
	}
	for i, r := range removed {
		at := slices.IndexFunc(*s, r.sameKind)
		if at < 0 {
			return fmt.Errorf("scalers.remove[%d]: %s is not a default scaler; delete the element", i, r)
		}
		*s = slices.Delete(slices.Clone(*s), at, at+1)
	}
	added, err := decodeScalers(&changes.Add, "scalers.add")
	*s = slices.Concat(*s, added)
	return err
}

func decodeScalers(node *yaml.Node, at string) (Scalers, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.IsZero() {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: %s: must be a list", node.Line, at)
	}
	list := make(Scalers, len(node.Content))
	for i, element := range node.Content {
		if element.Kind == yaml.AliasNode {
			element = element.Alias
		}
		if err := decodeStrict(element, &list[i], fmt.Sprintf("%s[%d]", at, i), "group", "kind", "path"); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// decodeStrict decodes an object that has no other fields than those given. A Node does not remember that its decoder was strict.
func decodeStrict(node *yaml.Node, into any, at string, fields ...string) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s: must be an object with %s", node.Line, at, strings.Join(fields, ", "))
	}
	for i := 0; i < len(node.Content); i += 2 {
		if name := node.Content[i]; !slices.Contains(fields, name.Value) {
			return fmt.Errorf("line %d: %s: unknown field %s; use %s", name.Line, at, name.Value, strings.Join(fields, ", "))
		}
	}
	if err := node.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// String returns the kind with its group, as "ScaledObject.keda.sh".
func (s Scaler) String() string { return schema.GroupKind{Group: s.Group, Kind: s.Kind}.String() }

func (s Scaler) sameKind(other Scaler) bool { return s.Group == other.Group && s.Kind == other.Kind }

// ScalerKinds returns the kinds of scalers in the form that their readers use. The error names the invalid field.
func (c HandoffConfiguration) ScalerKinds() ([]scale.Kind, error) {
	kinds := make([]scale.Kind, 0, len(c.Scalers))
	for i, s := range c.Scalers {
		k, err := s.parse()
		switch {
		case err != nil:
			return nil, fmt.Errorf("scalers: %s: %w", s, err)
		case slices.ContainsFunc(c.Scalers[:i], s.sameKind):
			return nil, fmt.Errorf("scalers: %s is listed twice; delete one of them", s)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

var errHPA = errors.New("HorizontalPodAutoscalers are always scalers; delete the element")

func (s Scaler) parse() (k scale.Kind, err error) {
	switch err := validateRule(ControllerRule{Group: s.Group, Kind: s.Kind}); {
	case err != nil:
		return k, err
	case s.Group == "" || s.Group == "*" || s.Group == "core":
		return k, fmt.Errorf("group: %q is not the group of a custom resource; write it, such as keda.sh", s.Group)
	case s.Kind == "" || s.Kind == "*":
		return k, fmt.Errorf("kind: %q is not a kind; write it as in a manifest, such as ScaledObject", s.Kind)
	case s.Group == "autoscaling" && s.Kind == "HorizontalPodAutoscaler":
		return k, errHPA
	}
	k.GroupKind = schema.GroupKind{Group: s.Group, Kind: s.Kind}
	pattern, err := ownership.ParsePattern(s.Path)
	if err != nil {
		return k, fmt.Errorf("path: %w", err)
	}
	for _, element := range pattern {
		if element.Wildcard || element.FieldName == nil {
			return k, fmt.Errorf("path: %s must lead to one object; use field names only, such as .spec.scaleTargetRef", s.Path)
		}
		k.Path = append(k.Path, *element.FieldName)
	}
	return k.Known(), nil
}
