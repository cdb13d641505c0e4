package audit

import (
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Data is a report for programs.
type Data struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects is how many were looked at, Resources of which types.
	Objects   int      `json:"objects"`
	Resources []string `json:"resources,omitempty"`
	// Namespaces are those that were looked into, by mode: enforce, warn, off and unknown.
	Namespaces map[ownership.Mode][]string `json:"namespaces"`
	Risks      []Risk                      `json:"risks"`
	// Unrecorded are autoscaled objects of clients that record no manifest: whether one sets the size is not known.
	Unrecorded []explain.ObjectData `json:"unrecorded,omitempty"`
	// Gaps say what is not known; there are none where the answer is complete.
	Gaps []string `json:"gaps,omitempty"`
}

// Data returns the report as data.
func (r *Report) Data() Data {
	d := Data{
		APIVersion: explain.APIVersion, Kind: "Audit", Objects: r.Objects, Resources: r.Kinds,
		Namespaces: map[ownership.Mode][]string{}, Risks: r.Risks, Unrecorded: r.Unrecorded, Gaps: r.Gaps,
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
