package strip

import (
	"encoding/json"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 80

// Lines returns what happened to the fields, one line each.
func (f File) Lines() []string {
	var lines []string
	for i := range f.Objects {
		o := &f.Objects[i]
		for j := range o.Fields {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", f.Name, o.Subject, o.sentence(&o.Fields[j])))
		}
	}
	return lines
}

func (o *Object) sentence(f *Field) string {
	path := explain.Text(f.Path)
	switch f.Action {
	case Set:
		return fmt.Sprintf("set %s to the live value %s, owned by %s; without the field, an apply could delete it: %s",
			path, table.Shorten(o.Subject.Show(f.Path, f.live), maxValueLen), f.Owner.By, f.Reason)
	case Left:
		return fmt.Sprintf("left %s, owned by %s: %s", path, f.Owner.By, f.Reason)
	default:
		return fmt.Sprintf("dropped %s, owned by %s", path, f.Owner.By)
	}
}

// Data is the machine-readable report on one object.
type Data struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// File is the name of the file.
	File   string             `json:"file"`
	Object explain.ObjectData `json:"object"`
	Fields []FieldData        `json:"fields"`
}

// FieldData is a field that others own.
type FieldData struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Owner  string `json:"owner"`
	// By is the owner's name: a field manager, or "HorizontalPodAutoscaler/web".
	By string `json:"by"`
	// Live is the live value; missing for the contents of a Secret.
	Live   json.RawMessage `json:"live,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

// Data returns the report on the objects with fields that others own.
func (f File) Data() []any {
	reports := make([]any, 0, len(f.Objects))
	for i := range f.Objects {
		o := &f.Objects[i]
		d := Data{APIVersion: explain.APIVersion, Kind: "Strip", File: f.Name, Object: explain.ObjectOf(o.Subject)}
		for j := range o.Fields {
			f := &o.Fields[j]
			d.Fields = append(d.Fields, FieldData{
				explain.Text(f.Path), f.Action, f.Owner.Kind.String(), f.Owner.By, o.Subject.Visible(f.Path, f.live), f.Reason,
			})
		}
		reports = append(reports, d)
	}
	return reports
}
