package merge

import (
	"strconv"

	"github.com/ownership-handoff/handoff/ownership"
)

// decideCreate is row 12: if an apply creates a workload that an autoscaler already targets, as after a deletion, the workload
// starts with the autoscaler's desired replicas instead of the manifest's. A manifest that sets 0 replicas is left alone.
func (d Decider) decideCreate(r Request) (out Outcome, err error) {
	path := d.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind)
	if path == nil {
		return out, nil
	}
	scaler := d.Cluster.Scaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	if scaler.Name == "" {
		return out, nil
	}
	w, _, invalid, err := d.writeOf(r)
	out.InvalidPaths = invalid
	if err != nil || w.Sender.Writer != ownership.Applier {
		return out, err // rows 9 and 10: there is no manifest
	}
	incoming := r.Incoming.Value(path)
	now, _ := strconv.ParseInt(string(incoming), 10, 64)
	field := ownership.ContestedField{
		Path: path, Scale: true, Live: strconv.AppendInt(nil, scaler.Desired, 10), Incoming: incoming,
		Owner:    ownership.FieldOwner{Kind: ownership.Autoscaler, By: scaler.Name},
		Declared: ownership.Declared{Manifest: w.Manifests.On(path).Manifest},
	}
	facts := factsOf(field, w.Sender.Writer)
	facts.Created, facts.Changed, facts.SwitchedOff = true, scaler.Desired > now, string(incoming) == "0"
	c := changeOf(field, facts)
	if err := c.checkScale(); err != nil || c.Decision.Verdict != Start {
		return out, err
	}
	out, err = rewrite(w, []Change{c})
	out.InvalidPaths = invalid
	return out, err
}
