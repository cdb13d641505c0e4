package merge

import (
	"slices"
	"strings"
)

// interleave returns the places in results of the merged list's elements: those of the manifest in its order, and in
// between, as far as that can be, those that only live has, in live's order. That is the order of
// https://git.k8s.io/design-proposals-archive/cli/preserve-order-in-strategic-merge-patch.md: of two elements at hand,
// the one that only live has goes first when live has it before the other.
//
// A new element has no place in live. Yet as many of them as elements go take the places at the end of live's list: so
// it is in strategicpatch, where they come to stand in the memory of the list that it compares with.
func (l *lists) interleave() []int {
	inLive := len(l.live.elements)
	mentioned := make([]bool, inLive)
	for _, at := range l.places {
		if at < inLive {
			mentioned[at] = true
		}
	}
	placed := inLive
	if l.strategy.List == MergeByKey {
		placed += l.removed
	}
	out := make([]int, 0, len(l.results))
	next := 0
	only := func(before int) {
		for ; next < inLive && next < before; next++ {
			if !mentioned[next] && l.results[next].kind != 0 {
				out = append(out, next)
			}
		}
	}
	for _, at := range l.places {
		if at < placed {
			only(at)
		}
		out = append(out, at)
	}
	only(inLive)
	return out
}

// keepsOrder says whether a set stays in live's order although the manifest has another: strategicpatch sorts live's
// values before it looks whether their order is the manifest's, and so does not see that a manifest that is sorted
// itself has another. It looks only where the manifest lets go of nothing.
func (l *lists) keepsOrder() bool {
	if l.edited || l.letGo || len(l.live.ids) != len(l.manifest.ids) {
		return false
	}
	return slices.IsSortedFunc(l.manifest.ids, func(a, b elementID) int { return strings.Compare(a.text, b.text) })
}
