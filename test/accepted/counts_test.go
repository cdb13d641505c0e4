package accepted_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// counts are the numbers of writes and results of the sequences.
type counts struct {
	mutex sync.Mutex
	of    map[string]int
}

func newCounts() *counts { return &counts{of: map[string]int{}} }

func (c *counts) add(names ...string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, name := range names {
		c.of[name]++
	}
}

func (c *counts) created(kind string, err error) {
	if err == nil {
		c.add("created", "created "+kind)
	} else {
		c.add("not created", "not created: "+kind+" "+rule(err))
	}
}

func (c *counts) edited(kind string, e step, err error) {
	if err != nil {
		c.add("edits rejected", "edits rejected: "+general(rule(err)))
		return
	}
	c.add("edits", "edits of "+kind, "edits by "+e.by)
	if e.put {
		c.add("edits by update")
	}
}

func (c *counts) applied(kind string, o observation) {
	c.add("applies", "applies of "+kind)
	if o.server {
		c.add("applies server-side")
	}
	switch {
	case o.refused != nil && o.refusedTwin != nil:
		c.add("applies rejected also without handoff", "applies rejected: "+general(rule(o.refused)))
	case o.refusedTwin != nil:
		c.add("applies that only handoff makes valid")
	}
	for range o.words.kept {
		c.add("kept", "kept in "+kind)
	}
	for range o.words.notKept {
		c.add("not kept")
	}
	for range o.words.cleared {
		c.add("cleared")
	}
	for _, p := range o.words.kept {
		if _, sets := at(o.manifest, p); sets {
			c.add("kept although the manifest sets it")
		}
	}
	if !o.compared() {
		return
	}
	for _, p := range o.schemas.leaves(o.base) {
		if _, sets := at(o.manifest, p); !sets && !equal(o.live.Object, o.twin.Object, p) {
			c.add("fields dropped")
		}
	}
}

// wantEnough fails the test if the sequences contain too few writes of a type for meaningful checks.
func (c *counts) wantEnough(t *testing.T) {
	t.Helper()
	least := func(name string, want int) {
		if c.of[name] < want {
			t.Errorf("%s: %d, want at least %d", name, c.of[name], want)
		}
	}
	n := *sequencesFlag
	for _, k := range kinds() {
		least("created "+k.gvk.Kind, n/len(kinds())/3)
		least("applies of "+k.gvk.Kind, n/len(kinds())/2)
		least("edits of "+k.gvk.Kind, n/len(kinds())/2)
	}
	for _, by := range append(imperativeManagers(), controller, scaler, "kubectl-replace") {
		least("edits by "+by, n/40)
	}
	least("kept", n/4)
	least("kept although the manifest sets it", n/40)
	least("fields dropped", n/2)
	least("applies server-side", n/10)
	if refused, all := c.of["applies rejected also without handoff"], c.of["applies"]; refused > all/2 {
		t.Errorf("%d of %d applies are rejected without handoff: too many for a meaningful test", refused, all)
	}
}

func (c *counts) String() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.of)) {
		fmt.Fprintf(&b, "%6d %s\n", c.of[name], name)
	}
	return b.String()
}
