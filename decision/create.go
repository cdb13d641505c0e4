package decision

import (
	"encoding/json"
	"strconv"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// decideCreate is row 12: a workload that is applied while an autoscaler already targets it, as after a deletion or a
// move, starts at the autoscaler's count, and not at the manifest's.
func (t Table) decideCreate(r Request, out *Outcome) error {
	path := t.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind)
	if path == nil {
		return nil
	}
	autoscaler, desired := t.Cluster.Autoscaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	if autoscaler == "" {
		return nil
	}
	w, err := t.writeOf(r)
	if err != nil {
		return err
	}
	if w.Author.Writer != ownership.Applier {
		return nil // rows 9 and 10: nobody's manifest is looked at
	}
	manifests, err := ownership.ManifestsOf(w.Author, r.Live, r.Incoming, nil)
	if err != nil {
		return err
	}
	count := strconv.FormatInt(desired, 10)
	incoming := string(r.Incoming.Value(path))
	now, _ := strconv.ParseInt(incoming, 10, 64)
	c := changeOf(path, merge.Field{
		Owner: ownership.Autoscaler, Writer: w.Author.Writer, Manifest: manifests.On(path).Manifest,
		Scale: true, Created: true, Changed: desired > now,
	}, autoscaler, count, incoming)
	if err := c.checkScale(); err != nil {
		return err
	}
	if c.Verdict != merge.Start || !w.ContainerStands(path) {
		return nil
	}
	out.Changes = append(out.Changes, c)
	return out.rewrite(w, []merge.Kept{{Path: path, Held: true, Value: json.RawMessage(count)}}, nil, manifests.Recorded)
}
