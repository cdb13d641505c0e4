package ownership

import (
	"cmp"
	"iter"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// RemovedFields returns the fields that an applier's write removes although another manager wrote them: their managedFields entries
// lose them, and the manifest lacks them. The owner is that manager. If a list element is gone, it is returned instead of the
// fields in it. Fields that are decided already, parents of these and what is nested under them are left out.
//
// Server-side apply removes nothing that others manage. The time is linear in the size of the objects. The error is
// ErrManagedFields.
func (w Write) RemovedFields(decided iter.Seq[fieldpath.Path]) ([]ContestedField, error) {
	if w.Sender.ServerSide() {
		return nil, nil
	}
	s := newSearch(w)
	managers := map[*fieldtree.Node]string{}
	for pair := range managedfields.Pairs(w.LiveEntries, w.IncomingEntries) {
		e := pair.Live
		if !pair.InLive || !pair.Changed() || e.Subresource != "" || w.InOtherVersion(e) || s.isClientSide(e) || e.Same(w.Sender.Entry) {
			continue
		}
		if err := s.addLost(pair, managers); err != nil {
			return nil, err
		}
	}
	return s.removed(managers, s.decidedNodes(decided)), nil
}

// addLost adds the fields that an entry of live has and the incoming one lacks, with their manager.
func (s *search) addLost(pair managedfields.Pair, managers map[*fieldtree.Node]string) error {
	lacks := func(incoming *jsontree.Node, key string) (next *jsontree.Node, all, ok bool) {
		next = incoming.Member(key)
		return next, next == nil, true
	}
	addLost := func(n *fieldtree.Node) {
		n.Wanted, managers[n] = true, cmp.Or(managers[n], pair.Live.Manager)
	}
	return unreadable(pair.Live, fieldtree.AddMatching(s.tree, pair.Live.Fields, pair.Incoming.Fields, lacks, addLost, nil))
}

// removed returns those of the lost fields that the write removes.
func (s *search) removed(managers map[*fieldtree.Node]string, decided map[*fieldtree.Node]bool) (fields []ContestedField) {
	s.readValues()
	// A manager that has written values of the base, as kubectl create does, has created the object: the API server has recorded the
	// defaults for it as well.
	creators := map[string]bool{}
	for n, manager := range managers {
		creators[manager] = creators[manager] || !n.IsKey() && s.isBase(n)
	}
	seen := map[*fieldtree.Node]bool{}
	for _, n := range s.tree.Nodes() {
		manager, lost := managers[n]
		inBase := s.inBase.Of(n) != nil
		if !lost || s.isBase(n) || !inBase && creators[manager] {
			continue
		}
		if n = s.goneElement(n); seen[n] || n.IsKey() {
			continue
		}
		if seen[n] = true; isDecided(n, decided) {
			continue
		}
		c := ContestedField{
			Path: n.Path(), Live: s.inLive.Of(n).Text(), Incoming: s.inIncoming.Of(n).Text(),
			Owner: FieldOwner{Kind: Imperative, By: manager},
		}
		if s.isDropped(n, &c) {
			fields = append(fields, c)
		}
	}
	return fields
}

// decidedNodes returns the nodes of the decided fields, and of their parents, for which it has false.
func (s *search) decidedNodes(decided iter.Seq[fieldpath.Path]) map[*fieldtree.Node]bool {
	nodes := map[*fieldtree.Node]bool{}
	if s.tree.Empty() {
		return nodes
	}
	for path := range decided {
		n := s.tree.AddUnwanted(path)
		for up := n; up != nil; up = up.Parent() {
			nodes[up] = nodes[up] || up == n
		}
	}
	return nodes
}

// isDecided reports whether a node is one of the decidedNodes, or nested under a decided field.
func isDecided(n *fieldtree.Node, decided map[*fieldtree.Node]bool) bool {
	_, is := decided[n]
	for ; n != nil && !is; n = n.Parent() {
		is = decided[n]
	}
	return is
}

// isDropped reports whether the write removes a field, or sets it to a default, because the manifest lacks it. It completes c.
func (s *search) isDropped(n *fieldtree.Node, c *ContestedField) bool {
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

// isBase reports whether live has the value of a field that the base sets.
func (s *search) isBase(n *fieldtree.Node) bool {
	return apitypes.AsDeclared(n.Path(), s.inLive.Of(n).Text(), s.inBase.Of(n).Text())
}

// goneElement returns the outermost list element that contains a field and that the write removes, the field itself if there is none.
func (s *search) goneElement(n *fieldtree.Node) (gone *fieldtree.Node) {
	gone = n
	for ; n != nil; n = n.Parent() {
		if !n.IsField() && s.inLive.Of(n) != nil && s.inIncoming.Of(n) == nil {
			gone = n
		}
	}
	return gone
}
