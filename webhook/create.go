package webhook

import (
	"encoding/json"
	"strconv"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// evaluateCreate is row 12: a workload that is applied while an autoscaler already targets it, as after a deletion or a
// move, starts at the autoscaler's count, and not at the manifest's.
func (h *Handler) evaluateCreate(r *review, out *outcome) error {
	path := h.Cluster.ScalePath(r.kind.Group, r.kind.Version, r.kind.Kind)
	if path == nil {
		return nil
	}
	autoscaler, desired := h.Cluster.Autoscaler(r.namespace, r.kind.Group, r.kind.Kind, r.name)
	if autoscaler == "" {
		return nil
	}
	w, err := h.writeOf(r)
	if err != nil {
		return err
	}
	if w.Author.Writer != ownership.Applier {
		return nil // rows 9 and 10: nobody's manifest is looked at
	}
	manifests, err := ownership.ManifestsOf(w.Author, r.live, r.incoming, nil)
	if err != nil {
		return err
	}
	count := strconv.FormatInt(desired, 10)
	incoming := string(r.incoming.Value(path))
	now, _ := strconv.ParseInt(incoming, 10, 64)
	c := changeOf(path, merge.Field{
		Owner: ownership.Autoscaler, Writer: w.Author.Writer, Manifest: manifests.On(path).Manifest,
		Scale: true, Created: true, Changed: desired > now,
	}, autoscaler, count, incoming)
	if err := c.checkScale(); err != nil {
		return err
	}
	if c.verdict != merge.Start || !w.ContainerStands(path) {
		return nil
	}
	out.changes = append(out.changes, c)
	return out.rewrite(w, []merge.Kept{{Path: path, Held: true, Value: json.RawMessage(count)}}, nil, manifests.Recorded)
}
