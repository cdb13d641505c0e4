package merge

import (
	"bytes"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/ownership"
)

// restoreOtherVersions restores entries that were recorded in another API version of the kind, if kept fields are all that
// they have lost. Paths of two versions cannot be compared, so the numbers of fields are: the fields that these entries have
// lost, and the kept fields that only appliers manage in the write's version. If the numbers differ, the write has changed
// other fields of these entries as well, and they stay as they are.
//
// restored are the entries of r.pairs, in the same order.
func (r *entryRestorer) restoreOtherVersions(restored []ownership.Entry) error {
	unmanaged := r.keeper.countUnmanaged()
	if unmanaged == 0 {
		return nil
	}
	lost := 0
	var losers []int
	for i, pair := range r.pairs {
		if !pair.changed || !r.keeper.isForeign(pair.live) || bytes.Equal(restored[i].Fields, pair.live.Fields) {
			continue
		}
		now, err := restored[i].Set()
		if err != nil {
			return err
		}
		live, err := pair.live.Set()
		if err != nil {
			return err
		}
		lost += live.Difference(now).Leaves().Size()
		losers = append(losers, i)
	}
	if lost != unmanaged {
		return nil
	}
	for _, i := range losers {
		restored[i] = r.pairs[i].live
	}
	return nil
}

// countUnmanaged returns the number of kept fields that no manager except appliers manages in the write's API version. The
// scale field does not count, because its path is known in every version.
func (k *keeper) countUnmanaged() int {
	managed := make([]bool, k.tree.Len()) // by Node.ID
	for _, e := range k.write.LiveEntries {
		if k.write.InOtherVersion(e) || k.write.Managers.IsApplier(e) {
			continue
		}
		k.tree.Managed(e.Fields, k.meter, func(n *fieldtree.Node, _ int) { managed[n.ID] = true })
	}
	unmanaged := 0
	for i, n := range k.nodes {
		if !k.kept[i].Scale && k.overruled[i] == "" && !k.gone[i] && !managed[n.ID] {
			unmanaged++
		}
	}
	return unmanaged
}

// isForeign reports whether an entry was recorded in another API version than the write's, by a manager that is not an applier.
func (k *keeper) isForeign(e ownership.Entry) bool {
	return e.Subresource == "" && k.write.InOtherVersion(e) && !k.write.Managers.IsApplier(e)
}
