package preview

import (
	"encoding/json"

	"github.com/ownership-handoff/handoff/plugin/explain"
)

// Data is the machine-readable form of a preview.
type Data struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Object     explain.ObjectData `json:"object"`
	// Creates reports whether the apply creates the object.
	Creates bool `json:"creates,omitempty"`
	// Mode is the object's mode: enforce, warn, off, or unknown.
	Mode string `json:"mode"`
	// Keeps reports whether an apply with handoff differs from one without.
	Keeps bool `json:"keeps"`
	// Refused is the API server's reason for rejecting an apply without handoff.
	Refused string `json:"refused,omitempty"`
	// Acts reports whether handoff is on: whether a dry run of the apply produces the values under With. It is missing if handoff
	// keeps nothing, or if there was no dry run.
	Acts   *bool       `json:"acts,omitempty"`
	Fields []FieldData `json:"fields"`
	// Warnings are handoff's, about anything but these fields.
	Warnings []string `json:"warnings,omitempty"`
	// Gaps describe what is unknown; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`
}

// FieldData is a field that an apply changes, or that handoff keeps. Live, Without and With are missing if the object does not
// have the field, and for the contents of a Secret.
type FieldData struct {
	Path    string          `json:"path"`
	Live    json.RawMessage `json:"live,omitempty"`
	Without json.RawMessage `json:"without,omitempty"`
	With    json.RawMessage `json:"with,omitempty"`
	Why     string          `json:"why"`
	// Verdict is what handoff does, Decision the name of the row in the decision table, as "keep-autoscaled", Row its number,
	// and Owner and By name the field's owner. They are missing if handoff does not act on the field.
	Verdict  string `json:"verdict,omitempty"`
	Decision string `json:"decision,omitempty"`
	Row      int    `json:"row,omitempty"`
	Owner    string `json:"owner,omitempty"`
	By       string `json:"by,omitempty"`
}

// Data returns the preview as data.
func (p *Preview) Data() Data {
	d := Data{
		APIVersion: explain.APIVersion, Kind: "Preview", Creates: !p.Subject.Object.Present(),
		Mode: string(p.Mode), Keeps: p.Keeps(), Refused: p.Refused, Fields: []FieldData{}, Gaps: p.Subject.Gaps, Warnings: p.Warnings,
		Object: explain.ObjectOf(p.Subject),
	}
	if p.Keeps() && p.tried {
		d.Acts = &p.Acts
	}
	for i := range p.Fields {
		d.Fields = append(d.Fields, p.fieldData(&p.Fields[i]))
	}
	return d
}

func (p *Preview) fieldData(f *Field) FieldData {
	d := FieldData{
		Path: explain.Text(f.Path), Why: f.Why,
		Live: p.Subject.Visible(f.Path, f.Live), Without: p.Subject.Visible(f.Path, f.Without), With: p.Subject.Visible(f.Path, f.With),
	}
	if f.Decided != nil {
		decision := f.Decided.Decision
		d.Verdict, d.Decision, d.Row = decision.Verdict.String(), decision.Name, decision.Row
		d.Owner, d.By = f.Decided.Owner.Kind.String(), f.Decided.Owner.By
	}
	return d
}
