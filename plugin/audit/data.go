package audit

import (
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Data is the machine-readable form of a report.
type Data struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects is the number of audited objects, Resources their types.
	Objects   int      `json:"objects"`
	Resources []string `json:"resources,omitempty"`
	// Namespaces are the audited namespaces by mode: enforce, warn, off and unknown.
	Namespaces map[ownership.Mode][]string `json:"namespaces"`
	Risks      []Risk                      `json:"risks"`
	// Unrecorded are autoscaled objects of clients that do not record their manifest: it is unknown whether it sets the replicas.
	Unrecorded []explain.ObjectData `json:"unrecorded,omitempty"`
	// ToOne and Undone are as in Report.
	ToOne  []explain.ObjectData `json:"scalesToOne,omitempty"`
	Undone []explain.ObjectData `json:"rulesUndone,omitempty"`
	// Annotated are the objects with the mode annotation, which has no effect on them.
	Annotated []source.Annotated `json:"annotated,omitempty"`
	// Notes say why handoff does not act as its mode says.
	Notes []string `json:"notes,omitempty"`
	// Gaps describe what is unknown; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`
}

// Data returns the report as data.
func (r *Report) Data() Data {
	d := Data{
		APIVersion: explain.APIVersion, Kind: "Audit", Objects: r.Objects, Resources: r.Resources,
		Namespaces: map[ownership.Mode][]string{}, Risks: r.Risks, Unrecorded: r.Unrecorded,
		ToOne: r.ToOne, Undone: r.Undone,
		Annotated: r.Annotated, Notes: r.Notes, Gaps: r.Gaps,
	}
	if d.Risks == nil {
		d.Risks = []Risk{}
	}
	for _, mode := range []ownership.Mode{ownership.ModeEnforce, ownership.ModeWarn, ownership.ModeOff} {
		d.Namespaces[mode] = append([]string{}, r.Namespaces[mode]...)
	}
	if unknown := r.Namespaces[source.UnknownMode]; unknown != nil {
		d.Namespaces[source.UnknownMode] = unknown
	}
	return d
}
