package explain

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Data is the machine-readable form of an explanation.
type Data struct {
	// Object is the explained object.
	Object source.Identity `json:"object"`
	// Autoscaler targets the object; Scale is the field that it sets.
	Autoscaler string      `json:"autoscaler,omitempty"`
	Scale      string      `json:"scale,omitempty"`
	Fields     []FieldData `json:"fields"`
	// Gaps describe what is unknown; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`
}

// FieldData is a field.
type FieldData struct {
	Path string `json:"path"`
	// Value is missing if only managedFields still has the field, and for the contents of a Secret.
	Value json.RawMessage `json:"value,omitempty"`
	Owner string          `json:"owner"`
	// By is the owner's name: a field manager, or "HorizontalPodAutoscaler/web".
	By string `json:"by,omitempty"`
	// Rule names the rule by which a controller owns the field, or is the annotation that does.
	Rule  string `json:"rule,omitempty"`
	Since string `json:"since,omitempty"`
	// Manifest is "yes", "no", "null", "?" if no manifest is recorded, or "other" with ManifestValue.
	Manifest      string          `json:"manifest"`
	ManifestValue json.RawMessage `json:"manifestValue,omitempty"`
	// Managers are the managedFields entries that contain the field.
	Managers []EntryData `json:"managers,omitempty"`
}

// EntryData is a managedFields entry that contains a field.
type EntryData struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	Time        string `json:"time,omitempty"`
}

// Data returns the explanation for -o json and yaml.
func (e Explanation) Data(chosen func(ownership.Owner) bool) Data {
	d := Data{
		Object: e.Subject.Identity, Autoscaler: e.Subject.Context.Autoscaler,
		Scale: Text(e.Subject.Context.Scale), Fields: []FieldData{}, Gaps: e.Subject.Gaps,
	}
	for i := range e.Fields {
		f := &e.Fields[i]
		if !chosen(f.Owner.Kind) {
			continue
		}
		data := FieldData{
			Path: Text(f.Path), Value: e.Subject.Visible(f.Path, f.Value), Owner: f.Owner.Kind.String(), By: f.Owner.By,
			Rule: f.Owner.Rule, Since: f.Since, Manifest: e.declared(f),
		}
		if f.DeclaredValue != nil {
			data.Manifest, data.ManifestValue = "other", e.Subject.Visible(f.Path, f.DeclaredValue)
		}
		for _, entry := range f.Entries {
			data.Managers = append(data.Managers, EntryData{entry.Manager, entry.Operation, entry.Subresource, entry.Time})
		}
		d.Fields = append(d.Fields, data)
	}
	return d
}

// Text returns a path in the form that ownership.ParsePattern parses: as the API server prints it in conflicts, except that
// names with dots are quoted in brackets.
func Text(path fieldpath.Path) string {
	var b strings.Builder
	for _, element := range path {
		name := element.FieldName
		switch {
		case name == nil:
			b.WriteString(element.String())
		case *name == "" || *name == "*" || strings.ContainsAny(*name, `.[]"`) || printable.Text(*name) != *name:
			b.WriteString("[" + printable.Quote(*name) + "]")
		default:
			b.WriteString("." + *name)
		}
	}
	return b.String()
}
