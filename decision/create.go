package decision

import (
	"strconv"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// decideCreate is row 12: a workload that is applied while an autoscaler already targets it, as after a deletion or a
// move, starts at the autoscaler's count, and not at the manifest's. A manifest that says 0 creates it switched off.
func (t Table) decideCreate(r Request) (out Outcome, err error) {
	path := t.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind)
	if path == nil {
		return out, nil
	}
	autoscaler, desired := t.Cluster.Autoscaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	if autoscaler == "" {
		return out, nil
	}
	w, err := t.writeOf(r)
	if err != nil || w.Author.Writer != ownership.Applier {
		return out, err // rows 9 and 10: nobody's manifest is looked at
	}
	incoming := r.Incoming.Value(path)
	now, _ := strconv.ParseInt(string(incoming), 10, 64)
	c := changeOf(ownership.Contested{
		Path: path, Scale: true, Live: strconv.AppendInt(nil, desired, 10), Incoming: incoming,
		Owned:    ownership.Owned{Owner: ownership.Autoscaler, By: autoscaler},
		Declared: ownership.Declared{Manifest: w.Manifests.On(path).Manifest},
	}, w.Author.Writer)
	c.Field.Created, c.Field.Changed, c.Field.SwitchedOff = true, desired > now, string(incoming) == "0"
	c = c.decided()
	if err := c.checkScale(); err != nil || c.Verdict != merge.Start {
		return out, err
	}
	return rewrite(w, ownership.ObjectContext{Managers: t.Managers, Scale: path}, []Change{c}, nil)
}
