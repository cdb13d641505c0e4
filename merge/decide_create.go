package merge

import (
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// decideCreate decides on a write that creates an object. It also records what the manifest sets, if a rule depends on it.
func (d Decider) decideCreate(r Request) (out Outcome, err error) {
	path := d.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind)
	var scaler ownership.Scaler
	if path != nil {
		scaler = d.Cluster.Scaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	}
	if scaler.Name == "" && !d.Rules.Remember() {
		return out, nil
	}
	w, context, invalid, err := d.writeOf(r)
	out.InvalidPaths = invalid
	if err != nil || w.Sender.Writer != ownership.Applier {
		return out, err // rows 9 and 10: there is no manifest
	}
	var start []Change
	if scaler.Name != "" {
		start, err = startOf(w, path, scaler)
	}
	if err != nil || len(start) == 0 && !d.Rules.Remember() {
		return out, err
	}
	return decide(w, context, start, invalid, r.Meter)
}

// startOf is row 12: if an apply creates a workload that an autoscaler already targets, as after a deletion, the workload starts with
// the autoscaler's desired replicas instead of the manifest's. A manifest that sets 0 replicas is left alone.
func startOf(w ownership.Write, path fieldpath.Path, scaler ownership.Scaler) ([]Change, error) {
	incoming := w.Incoming.Value(path)
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
		return nil, err
	}
	return []Change{c}, nil
}
