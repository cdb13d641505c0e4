package config

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Scaler is a kind whose objects own the scale field of the object that they reference.
type Scaler struct {
	// Group and Kind are those of the scaler, without a version.
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Path leads to its reference, an object with apiVersion, kind and name: ".spec.scaleTargetRef".
	Path string `json:"path"`
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

// String returns the kind with its group, as "ScaledObject.keda.sh".
func (s Scaler) String() string { return schema.GroupKind{Group: s.Group, Kind: s.Kind}.String() }

// ScalerKinds returns the kinds of scalers in the form that their readers use. The error names the invalid field.
func (c HandoffConfiguration) ScalerKinds() ([]scale.Kind, error) {
	kinds := make([]scale.Kind, 0, len(c.Scalers))
	for _, s := range c.Scalers {
		k, err := s.parse()
		if err != nil {
			return nil, fmt.Errorf("scalers: %s: %w", s, err)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func (s Scaler) parse() (k scale.Kind, err error) {
	switch err := validateKind(s.Group, s.Kind); {
	case err != nil:
		return k, err
	case s.Group == "" || s.Group == "*" || s.Group == "core":
		return k, inField("group", fmt.Errorf("%q is not the group of a custom resource; write it, such as keda.sh", s.Group))
	case s.Kind == "" || s.Kind == "*":
		return k, inField("kind", fmt.Errorf("%q is not a kind; write it as in a manifest, such as ScaledObject", s.Kind))
	case s.Group == "autoscaling" && s.Kind == "HorizontalPodAutoscaler":
		return k, errors.New("HorizontalPodAutoscalers are always scalers; delete the element")
	}
	k.GroupKind = schema.GroupKind{Group: s.Group, Kind: s.Kind}
	pattern, err := ownership.ParsePattern(s.Path)
	if err != nil {
		return k, inField("path", fmt.Errorf("%w; write one, such as .spec.scaleTargetRef", err))
	}
	for _, element := range pattern {
		if element.Wildcard || element.FieldName == nil {
			return k, inField("path", fmt.Errorf("%s must lead to one object; use field names only, such as .spec.scaleTargetRef", s.Path))
		}
		k.Path = append(k.Path, *element.FieldName)
	}
	return k.Known(), nil
}
