package audit

import (
	"cmp"
	"encoding/json"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// Kind is a kind of risk.
type Kind string

// The kinds of risks.
const (
	// Replicas means that an autoscaler scales the object and a manifest still sets the scale field.
	Replicas Kind = "replicas"
	// Contested means that several managers write the same fields.
	Contested Kind = "contested"
	// NoTarget means that a HorizontalPodAutoscaler or another scaler scales nothing.
	NoTarget Kind = "no-target"
	// TwoAutoscalers means that two or more HorizontalPodAutoscalers target the object.
	TwoAutoscalers Kind = "two-autoscalers"
)

// Risk is a risk of one object. It does not refer to the object, which is not kept.
type Risk struct {
	Kind   Kind               `json:"risk"`
	Object explain.ObjectData `json:"object"`
	// Field is the path of the field, or of the common parent of all Fields.
	Field  string  `json:"field"`
	Fields []Field `json:"fields,omitempty"`
	// Now describes the field's current value, NextApply what an apply would do.
	Now       string `json:"now"`
	NextApply string `json:"nextApply"`
	// Mode is the mode in which handoff reviews the object, Why the reason if that is not the mode that was set, and Handoff how
	// handoff responds. They are empty if the risk does not depend on an apply.
	Mode    ownership.Mode `json:"mode,omitempty"`
	Why     string         `json:"why,omitempty"`
	Handoff string         `json:"handoff,omitempty"`
	// Managers are the managers involved, the owner first.
	Managers []string `json:"managers,omitempty"`
	Since    string   `json:"since,omitempty"`
	// Remedies are in order, the quickest first. Those that begin with kubectl are commands.
	Remedies []string `json:"remedies"`

	name string
}

// Field is a field at risk.
type Field struct {
	Path string `json:"path"`
	// Value and ManifestValue are left out if they are long, and for Secrets.
	Value         json.RawMessage `json:"value,omitempty"`
	ManifestValue json.RawMessage `json:"manifestValue,omitempty"`
}

// maxValueLen limits the length of a value that a risk keeps.
const maxValueLen = 256

func fieldOf(d explain.FieldData) Field {
	short := func(value json.RawMessage) json.RawMessage {
		if len(value) > maxValueLen {
			return nil
		}
		return append(json.RawMessage(nil), value...) // a copy, so that the page can be garbage-collected
	}
	return Field{Path: d.Path, Value: short(d.Value), ManifestValue: short(d.ManifestValue)}
}

func (a *auditor) add(r Risk) { a.report.Risks = append(a.report.Risks, r) }

func compare(a, b Risk) int {
	return cmp.Or(
		cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Kind, b.Kind),
	)
}
