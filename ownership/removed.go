package ownership

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// RemovedFields returns the fields that an applier's write removes although another manager wrote them: their managedFields entries
// lose them, and the manifest lacks them. The owner is that manager. If a list element is gone, it is returned instead of the
// fields in it.
//
// Server-side apply removes nothing that others manage. The time is linear in the size of the objects. The error is
// ErrManagedFields.
func (c ObjectContext) RemovedFields(w Write) ([]ContestedField, error) {
	if w.Sender.ServerSide() {
		return nil, nil
	}
	s := newSearch(c, w)
	managers := map[*fieldtree.Node]string{}
	for pair := range Pairs(w.LiveEntries, w.IncomingEntries) {
		e := pair.Live
		if !pair.InLive || !pair.Changed() || e.Subresource != "" || w.InOtherVersion(e) || s.isClientSide(e) || e.Same(w.Sender.Entry) {
			continue
		}
		if err := s.addLost(pair, managers); err != nil {
			return nil, err
		}
	}
	return s.removed(managers), nil
}

// addLost adds the fields that an entry of live has and the incoming one lacks, with their manager.
func (s *search) addLost(pair Pair, managers map[*fieldtree.Node]string) error {
	had := &fieldtree.Tree{}
	if err := addMatching(had, pair.Live, patternMatcher{start: []*patternTree{everything}}, nil); err != nil {
		return err
	}
	has := make([]bool, had.Len()) // by Node.ID
	had.Managed(pair.Incoming.Fields, func(n *fieldtree.Node, _ *jsontree.Node) { has[n.ID] = true })
	for _, n := range had.Nodes() {
		if n.Wanted && !has[n.ID] {
			lost := s.tree.Add(n.Path())
			managers[lost] = cmp.Or(managers[lost], pair.Live.Manager)
		}
	}
	return nil
}

// everything matches all fields.
var everything = treeOf(mustParse(".*"))

// removed returns those of the lost fields that the write removes.
func (s *search) removed(managers map[*fieldtree.Node]string) (fields []ContestedField) {
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
		seen[n] = true
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

// isDropped reports whether the write removes a field, or sets it to a default, because the manifest lacks it. It completes c.
func (s *search) isDropped(n *fieldtree.Node, c *ContestedField) bool {
	w := s.write
	if len(c.Live) == 0 || !c.Changed() || c.Path.Equals(LastAppliedPath()) || isAllocated(w.Kind.GroupKind(), c.Path) {
		return false
	}
	c.Declared, c.Removed = s.declared(n, c.Path), len(c.Incoming) == 0
	if unsent := c.Removed && (!w.Manifests.Recorded || w.DryRun && w.Manifests.sameText()); unsent {
		c.Declared.Manifest = Lacks // Helm 3 and kubectl diff record no manifest
	}
	return c.Declared.Manifest == Lacks && (c.Removed || c.Declared.Base != Lacks || s.droppedParent(n) != nil)
}

// allocated are the fields of a Service that the API server restores after admission if a write removes them (patchAllocatedValues in
// k8s.io/kubernetes/pkg/registry/core/service/storage).
var allocated = mustParse(
	".spec.clusterIP", ".spec.clusterIPs", ".spec.healthCheckNodePort", ".spec.ipFamilies", ".spec.ipFamilyPolicy", ".spec.ports[*].nodePort",
)

func isAllocated(kind schema.GroupKind, path fieldpath.Path) bool {
	return kind == schema.GroupKind{Kind: "Service"} && slices.ContainsFunc(allocated, func(p Pattern) bool { return p.Matches(path) })
}

// isBase reports whether live has the value of a field that the base sets.
func (s *search) isBase(n *fieldtree.Node) bool {
	return asDeclared(n.Path(), s.inLive.Of(n).Text(), s.inBase.Of(n).Text())
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
