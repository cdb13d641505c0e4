package preview

import (
	"encoding/json"

	"github.com/ownership-handoff/handoff/plugin/explain"
)

// Data is a preview for programs.
type Data struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Object     explain.ObjectData `json:"object"`
	// Creates says that there is no live object yet.
	Creates bool `json:"creates,omitempty"`
	// Mode is the one that holds for the object: enforce, warn, off, or unknown.
	Mode string `json:"mode"`
	// Keeps says that an apply with handoff differs from one without.
	Keeps bool `json:"keeps"`
	// Refused says why the API server refuses an apply without handoff.
	Refused string `json:"refused,omitempty"`
	// Acts says whether a dry run of the apply gives what stands under with; missing where none was made.
	Acts   *bool       `json:"acts,omitempty"`
	Fields []FieldData `json:"fields"`
	// Gaps say what is not known; there are none where the answer is complete.
	Gaps []string `json:"gaps,omitempty"`
}

// FieldData is a field that an apply changes, or that handoff keeps. Live, Without and With are missing where the field is,
// and for what a Secret holds.
type FieldData struct {
	Path    string          `json:"path"`
	Live    json.RawMessage `json:"live,omitempty"`
	Without json.RawMessage `json:"without,omitempty"`
	With    json.RawMessage `json:"with,omitempty"`
	Why     string          `json:"why"`
	// Verdict is what handoff decides, by which row of the decision table, and Owner and By whose the field is; missing where
	// handoff lets the apply do as it does.
	Verdict string `json:"verdict,omitempty"`
	Row     int    `json:"row,omitempty"`
	Owner   string `json:"owner,omitempty"`
	By      string `json:"by,omitempty"`
}

// Data returns the preview as data.
func (p *Preview) Data() Data {
	d := Data{
		APIVersion: explain.APIVersion, Kind: "Preview", Creates: !p.Object.Present(),
		Mode: string(p.Mode), Keeps: p.Keeps(), Refused: p.Refused, Fields: []FieldData{}, Gaps: p.Gaps,
		Object: explain.ObjectOf(p.Subject),
	}
	if p.Tried {
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
		Live: p.Visible(f.Path, f.Live), Without: p.Visible(f.Path, f.Without), With: p.Visible(f.Path, f.With),
	}
	if f.Decided != nil {
		d.Verdict, d.Row = f.Decided.Verdict.String(), f.Decided.Row
		d.Owner, d.By = f.Decided.Owner.Owner.String(), f.Decided.Owner.By
	}
	return d
}
