package merge

import (
	"bytes"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/ownership"
)

// restoreForeign gives entries that were recorded in another version of the kind what they claimed in live, where all that
// they have lost is the claims on kept fields. The paths of the two versions cannot be compared, so their numbers are: the
// fields that these entries have lost, and the kept fields that nobody but an applier claims in the version of the write. If
// these differ, the write has changed other fields of the same entries as well, and the entries are left alone.
// Restored are the entries of the pairs, in their order.
func (c *unitClaims) restoreForeign(restored []ownership.Entry) error {
	orphans := c.orphans()
	if orphans == 0 {
		return nil
	}
	lost := 0
	var losers []int
	for i, pair := range c.pairs {
		if !pair.isChanged || !c.isOthersInOtherVersion(pair.was) || bytes.Equal(restored[i].Fields, pair.was.Fields) {
			continue
		}
		now, err := restored[i].Set()
		if err != nil {
			return err
		}
		was, err := pair.was.Set()
		if err != nil {
			return err
		}
		lost += was.Difference(now).Leaves().Size()
		losers = append(losers, i)
	}
	if lost != orphans {
		return nil
	}
	for _, i := range losers {
		restored[i] = c.pairs[i].was
	}
	return nil
}

// orphans returns how many fields are kept that nobody but an applier claims in the version of the write. The scale field
// is none of them: its path is known in every version.
func (k *keeper) orphans() int {
	claimed := map[int]bool{}
	for _, e := range k.write.LiveEntries {
		if k.write.InOtherVersion(e) || k.write.Managers.IsApplier(e) {
			continue
		}
		k.tree.Claims(e.Fields, k.meter, func(n *fieldtree.Node, _ int) { claimed[n.ID] = true })
	}
	orphans := 0
	for i, n := range k.nodes {
		if !k.kept[i].Scale && k.overruled[i] == "" && !k.gone[i] && !claimed[n.ID] {
			orphans++
		}
	}
	return orphans
}

// isOthersInOtherVersion reports whether an entry is that of no applier and has been recorded in another version of the kind.
func (k *keeper) isOthersInOtherVersion(e ownership.Entry) bool {
	return e.Subresource == "" && k.write.InOtherVersion(e) && !k.write.Managers.IsApplier(e)
}
