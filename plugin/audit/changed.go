package audit

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// Changed are the fields of an object that have another value than their manifest.
type Changed struct {
	Object   explain.ObjectData `json:"object"`
	Fields   []Field            `json:"fields"`
	Managers []string           `json:"managers"`
}

// changed adds the fields that an imperative manager wrote since the last-applied manifest set them, but not those that handoff
// keeps once the manifest drops them (the table of units in docs/decisions.md), nor scale fields.
func (a *auditor) changed(e explain.Explanation) {
	found := Changed{Object: explain.ObjectOf(e.Subject)}
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Value == nil || f.DeclaredValue == nil || len(f.Entries) == 0 || f.Owner.Kind != ownership.Imperative ||
			!e.Subject.Context.Managers.IsImperative(f.Entries[0]) || e.Subject.Context.IsScale(f.Path) ||
			e.Keeps(f, ownership.Lacks, ownership.Sets) {
			continue
		}
		data := e.FieldData(f)
		found.Fields = append(found.Fields, Field{data.Path, kept(data.Value), kept(data.ManifestValue)})
		found.Managers = append(found.Managers, f.Entries[0].Manager)
	}
	if len(found.Fields) > 0 {
		a.report.Changed = append(a.report.Changed, found)
	}
}

// changedNote returns a sentence about the first of the changed fields, "" if there are none.
func changedNote(changed []Changed) string {
	var names []string
	count := 0
	for _, c := range changed {
		count += len(c.Fields)
		for i := 0; i < len(c.Fields) && len(names) < maxNames; i++ {
			names = append(names, fmt.Sprintf("%s of %s (%s)", c.Fields[i].Path, namesOf([]explain.ObjectData{c.Object}), c.Managers[i]))
		}
	}
	if count == 0 {
		return ""
	}
	return "changed since the manifest set it: " + printable.Names(names, count) + "; the next apply overwrites it, and an apply that " +
		"drops the field removes it; set the value in the manifest, or name the field in a rule"
}
