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
	// Replicas: an autoscaler sizes the object, and a manifest or an applier's claim still sets the size.
	Replicas Kind = "replicas"
	// Contested: two managers fight over fields.
	Contested Kind = "contested"
	// NoTarget: a HorizontalPodAutoscaler scales nothing.
	NoTarget Kind = "no-target"
	// TwoAutoscalers: two HorizontalPodAutoscalers, or more, target the object.
	TwoAutoscalers Kind = "two-autoscalers"
)

// Risk is something that would go wrong. What it says of one object stands on its own: the object is not kept.
type Risk struct {
	Kind   Kind               `json:"risk"`
	Object explain.ObjectData `json:"object"`
	// Field is the field, or what holds all of the Fields.
	Field  string  `json:"field"`
	Fields []Field `json:"fields,omitempty"`
	// Now is the field's value, or what there is instead, in short; NextApply what an apply would do.
	Now       string `json:"now"`
	NextApply string `json:"nextApply"`
	// Mode is that of the object, Handoff what handoff does in it. Both are empty for what is no matter of an apply.
	Mode    ownership.Mode `json:"mode,omitempty"`
	Handoff string         `json:"handoff,omitempty"`
	// Managers have a say in the field: who holds it first.
	Managers []string `json:"managers,omitempty"`
	Since    string   `json:"since,omitempty"`
	// Remedies are what to do, the quickest first: commands where they begin with kubectl.
	Remedies []string `json:"remedies"`

	name string
}

// Field is a field that is at risk.
type Field struct {
	Path string `json:"path"`
	// Value and ManifestValue are left out where they are long, and of Secrets.
	Value         json.RawMessage `json:"value,omitempty"`
	ManifestValue json.RawMessage `json:"manifestValue,omitempty"`
}

// mostValue is how long a value can be that is kept.
const mostValue = 256

func fieldOf(d explain.FieldData) Field {
	short := func(value json.RawMessage) json.RawMessage {
		if len(value) > mostValue {
			return nil
		}
		return append(json.RawMessage(nil), value...) // the page that it is from is to be let go
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
