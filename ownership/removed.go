package ownership

import (
	"cmp"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// addLost adds the fields that another manager's entry has in live and lacks in incoming. A server-side apply removes nothing that others
// manage.
func (s *Search) addLost() error {
	w := s.write
	if w.Sender.ServerSide() {
		return nil
	}
	for pair := range managedfields.Pairs(w.LiveEntries, w.IncomingEntries) {
		e := pair.Live
		if !pair.InLive || !pair.Changed() || e.Subresource != "" || w.InOtherVersion(e) || w.isClientSide(e) || e.Same(w.Sender.Entry) {
			continue
		}
		lacks := func(incoming *jsontree.Node, key string) (next *jsontree.Node, all, ok bool) {
			next = incoming.Member(key)
			return next, next == nil, true
		}
		add := func(n *fieldtree.Node) { s.losers[n] = cmp.Or(s.losers[n], e.Manager) }
		if err := unreadable(e, fieldtree.AddMatching(s.tree, e.Fields, pair.Incoming.Fields, lacks, add, nil)); err != nil {
			return err
		}
	}
	return nil
}

// Removed returns the fields that the write removes although another manager wrote them: their managedFields entries lose them, and the
// manifest lacks them. The owner is that manager. If a list element is gone, it is returned instead of the fields in it. Fields that are
// decided already are left out.
func (s *Search) Removed(isDecided func(fieldpath.Path) bool) (fields []ContestedField) {
	// A manager that has written values of the base, as kubectl create does, has created the object: the API server has recorded the
	// defaults for it as well.
	creators, seen := map[string]bool{}, map[*fieldtree.Node]bool{}
	for n, manager := range s.losers {
		creators[manager] = creators[manager] || !n.IsKey() && s.isBase(n)
	}
	for _, n := range s.tree.Nodes() {
		manager, isLost := s.losers[n]
		if !isLost || s.is(n, parentMark) || s.isBase(n) || s.valueIn(s.inBase, n) == nil && creators[manager] {
			continue
		}
		if n = s.goneElement(n); seen[n] || n.IsKey() {
			continue
		}
		seen[n] = true
		c := ContestedField{
			Path: n.Path(), Live: s.inLive.Of(n).Text(), Incoming: s.inIncoming.Of(n).Text(),
			Owner: FieldOwner{Kind: Imperative, By: manager},
		}
		if !isDecided(c.Path) && s.isDropped(n, &c) {
			fields = append(fields, c)
		}
	}
	return fields
}

// isDropped reports whether the write removes a field, or sets it to a default, because the manifest lacks it. It completes c.
func (s *Search) isDropped(n *fieldtree.Node, c *ContestedField) bool {
	w := s.write
	if len(c.Live) == 0 || !c.Changed() || c.Path.Equals(LastAppliedPath()) || apitypes.IsAllocated(w.Kind.GroupKind(), c.Path) {
		return false
	}
	c.Declared, c.Removed = s.declared(n, c.Path), len(c.Incoming) == 0 || s.droppedParent(n) != nil
	if c.Removed && (!w.Manifests.Recorded || w.Unsent()) {
		c.Declared.Manifest = Lacks // Helm 3 and kubectl diff record no manifest
	}
	return c.Declared.Manifest == Lacks && (c.Removed || c.Declared.Base != Lacks)
}
